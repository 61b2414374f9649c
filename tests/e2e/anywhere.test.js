// The page wherever it stands: on a host, in a folder of one, from disk without a network, and in a frame of another page.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { dist } from '../../scripts/lib/paths.mjs';
import { drive, ONE_REFUND } from './lab.js';
import { openPage, startServer, waitUntilReady } from './support.js';

const single = pathToFileURL(join(dist, 'crashlab.html')).href;

/** Where the page can stand: its address, and what it may load. */
const PLACES = [
  { name: 'on a host', url: async () => (await startServer()).url, scheme: /^(http|data|blob):/ },
  {
    name: 'in a folder of a host',
    url: async () => (await startServer({ base: '/courses/agents/' })).url,
    scheme: /^(http:\/\/127\.0\.0\.1:\d+\/courses\/agents\/|data:|blob:)/,
  },
  {
    name: 'as one file from disk, without a network',
    url: async () => single,
    scheme: /^(file|data|blob):/,
    offline: true,
  },
];

for (const { name, url, scheme, offline = false } of PLACES) {
  /** Opens the page there and notes what it loads from elsewhere. */
  const open = async (path) => {
    const address = await url();
    const opened = await openPage({ url: address, path, contextOptions: { offline } });
    const strange = [];
    opened.page.on('request', (request) => {
      if (!scheme.test(request.url())) strange.push(request.url());
    });
    return { ...opened, lab: drive(opened.page), strange };
  };

  test(`${name}: a run, a crash by reload, a resume, an approval`, async () => {
    const { page, lab, strange } = await open('?speed=max');
    await lab.run();
    await lab.stands('waiting');
    await page.reload();
    await waitUntilReady(page);
    await lab.stands('agent gone');
    await lab.button('Resume').click();
    await lab.stands('waiting');
    await lab.question.getByRole('button', { name: /Approve/ }).click();
    await lab.stands('done');
    assert.deepEqual(await lab.books(), ONE_REFUND);
    assert.deepEqual(strange, []);
  });

  test(`${name}: a lesson with its source, and the report from a worker`, async () => {
    const { page, lab, strange } = await open('?speed=max#lesson=3');
    await page.getByRole('button', { name: 'One', exact: true }).click();
    await lab.run();
    await lab.stands('waiting');
    await lab.question.getByRole('button', { name: /Approve/ }).click();
    await lab.stands('done');
    await page.locator('[data-record]').filter({ hasText: 'issue_refund, attempt 2' }).click();
    await page.getByRole('button', { name: 'Why is that?' }).click();
    await page.getByRole('button', { name: /src\/agent\/answers\.rs, line/ }).click();
    await page.getByRole('dialog').getByText('pub(super) fn tool_failed').waitFor();
    await page.keyboard.press('Escape');
    await page.goBack();
    await page.locator('.acts').waitFor();

    await lab.button('Report').click();
    await page
      .getByRole('dialog', { name: 'How did this run do?' })
      .getByRole('region', { name: 'Checks' })
      .waitFor();
    assert.deepEqual(strange, []);
  });
}

// --- In a frame --------------------------------------------------------------------------------------------------------------------

const hosts = [];
after(() => Promise.all(hosts.map((host) => new Promise((done) => host.close(done)))));

/** A page of somebody's course, on another origin, with the page in a frame. */
async function openHost(source, { attributes = '', context } = {}) {
  const host = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><html lang="en"><title>A course</title><h1>Agents</h1>
      <iframe src="${source}" title="Crashlab" width="900" height="640" ${attributes}></iframe>`);
  });
  hosts.push(host);
  await new Promise((done) => host.listen(0, '127.0.0.1', done));
  const url = `http://localhost:${host.address().port}/`;
  const opened = await openPage({ url, ready: false, context });
  const element = await opened.page.locator('iframe').elementHandle();
  const frame = await element.contentFrame();
  await frame.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  return { ...opened, frame, lab: drive(frame) };
}

test('a scenario in a frame has its run and a way out, and none of the rest', async () => {
  const { url } = await startServer();
  const { page, frame, lab } = await openHost(
    `${url}?embed&amp;scenario=denied&amp;speed=max&amp;off=jitter`,
  );
  await frame.getByRole('heading', { name: 'Denied', level: 1 }).waitFor();
  assert.equal(await frame.getByRole('combobox', { name: 'Scenario' }).count(), 0);
  assert.equal(await frame.getByRole('button', { name: /Share|Export|Report|Help/ }).count(), 0);
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Deny/ }).click();
  await frame.locator('.card.over').waitFor();
  const [out] = await Promise.all([
    page.waitForEvent('popup'),
    frame.getByRole('link', { name: 'Open in Crashlab' }).click(),
  ]);
  await waitUntilReady(out);
  assert.equal(await out.getByRole('combobox', { name: 'Scenario' }).inputValue(), 'denied');
  assert.equal(await out.getByRole('switch', { name: 'Jitter', exact: true }).isChecked(), false);
  assert.equal(await out.getByText('its agent is gone').count(), 0, 'its runs are its own');
});

test('a lesson in a frame is done there, and Back stays the host’s', async () => {
  const { url } = await startServer();
  const { page, frame, lab } = await openHost(`${url}?embed&amp;lesson=3&amp;speed=max`);
  await frame.getByRole('button', { name: 'Two', exact: true }).click();
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await frame.locator('.lesson nav').getByRole('link', { name: 'Bet' }).click();
  await frame.locator('.bet').waitFor();
  assert.equal(await page.evaluate(() => history.length), 2, 'about:blank and the course');
  assert.equal(await frame.getByRole('link', { name: 'All lessons' }).isVisible(), false);
});

test('a frame whose storage is closed works all the same', async () => {
  const { url } = await startServer();
  const { context } = await openPage();
  await context.addInitScript(() => {
    if (window === window.top) return;
    Object.defineProperty(window, 'localStorage', {
      get() {
        throw new DOMException('The operation is insecure.', 'SecurityError');
      },
    });
  });
  const { frame, lab } = await openHost(`${url}?embed&amp;lesson=7&amp;speed=max`, { context });
  await frame.getByText('Your progress is not kept').waitFor();
  await frame.getByRole('button', { name: 'Once', exact: true }).click();
  await lab.run();
  await lab.stands('agent gone');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.button('Resume').click();
  await lab.stands('done');
  await frame.getByRole('navigation', { name: 'Columns' }).getByText('Places').click();
  assert.equal((await lab.books()).refunds, 1);
  assert.equal(await frame.locator('.notice').count(), 0);
});

test('the one file works in a frame that is shut off from everything', async () => {
  const { url } = await startServer();
  const source = `${url}crashlab.html?embed&amp;lesson=7&amp;speed=max`;
  const { frame, lab } = await openHost(source, { attributes: 'sandbox="allow-scripts"' });
  await frame.getByRole('button', { name: 'Once', exact: true }).click();
  await lab.run();
  await lab.stands('agent gone');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.button('Resume').click();
  await lab.stands('done');
  await frame.locator('.verdict').getByText('The books say 1 question.').waitFor();
});
