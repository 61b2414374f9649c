// `make bench-viewer`: how the viewer bears traces of 10,000 and 100,000 records, against the budgets.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from './build.mjs';
import { install } from './install.mjs';
import { launchBrowser } from './lib/browser.mjs';
import { root } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { serve } from './serve.mjs';

const BUDGETS = { first_rows_ms: 500, select_ms: 50, worst_frame_ms: 100, rows_100k_ms: 3000 };
const ROUNDS = 3;

await main(async () => {
  await install({ browser: true });
  await build();
  const [small, large] = await Promise.all([trace(10_000), trace(100_000)]);
  const server = await serve();
  const browser = await launchBrowser();
  /** @type {Record<string, number[]>} */
  const times = { first_rows_ms: [], select_ms: [], worst_frame_ms: [], rows_100k_ms: [] };
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const page = await open(browser, server.url);
      times.first_rows_ms.push(await show(page, small));
      await whole(page, 9_999);
      times.select_ms.push(await select(page));
      times.worst_frame_ms.push(await scroll(page));
      await page.context().close();

      const other = await open(browser, server.url);
      times.rows_100k_ms.push(await show(other, large, 99_999));
      await other.context().close();
    }
  } finally {
    await browser.close();
    await server.close();
  }
  let failed = false;
  for (const [name, found] of Object.entries(times)) {
    const median = Math.round(found.sort((a, b) => a - b)[(ROUNDS - 1) / 2]);
    failed ||= median > BUDGETS[name];
    console.log(`${name}: ${median}`);
  }
  if (failed) {
    console.error(`The budgets are ${JSON.stringify(BUDGETS)}.`);
    process.exitCode = 1;
  }
});

/** A long run: a real one over and over, with steps and times that go on. */
async function trace(records) {
  const file = join(root, 'tests', 'golden', 'double-charge.jsonl');
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n').slice(1, -1);
  const start = JSON.parse(lines[0]).ts;
  const made = [];
  for (let round = 0; made.length < records; round += 1) {
    for (const line of lines) {
      if (made.length === records) break;
      made.push(
        line
          .replace(/"ts":([\d.]+)/, (_, ts) => `"ts":${(Number(ts) + round * 60).toFixed(3)}`)
          .replace(/"step":(\d+)/, (_, step) => `"step":${Number(step) + round * 8}`)
          .replace(
            /"call_id":"call_(\d+)"/,
            (_, id) => `"call_id":"call_${Number(id) + round * 7}"`,
          ),
      );
    }
  }
  return { text: `${made.join('\n')}\n`, start };
}

async function open(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  // The viewer is loaded when somebody moves.
  await page.mouse.move(10, 10);
  await page.waitForTimeout(500);
  return page;
}

/** From the file's text to its first rows on the screen, or to a record of its end on the screen. */
async function show(page, { text }, last) {
  return page.evaluate(
    async ([text, last]) => {
      const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const start = performance.now();
      dispatchEvent(new CustomEvent('crashlab:file', { detail: new File([text], 'long.jsonl') }));
      while (!document.querySelector('[data-record]')) await painted();
      if (last !== undefined) {
        const whole = (last + 1).toLocaleString('en');
        while (!document.querySelector('.status .sentence')?.textContent.includes(whole))
          await painted();
        const list = /** @type {HTMLElement} */ (document.querySelector('.trace .scroller'));
        while (!document.querySelector(`[data-record="${last}"]`)) {
          list.scrollTop = list.scrollHeight;
          await painted();
        }
      }
      await painted();
      return performance.now() - start;
    },
    [text, last],
  );
}

/** Until every row is in the page, for the browser's own find. */
async function whole(page, last) {
  await page.waitForFunction(
    (count) => document.querySelectorAll('[data-record]').length === count,
    last + 1,
  );
}

/** From the press on a record to its detail on the screen: the median of some all over the trace. */
async function select(page) {
  return page.evaluate(async () => {
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const times = [];
    for (let i = 0; i < 21; i += 1) {
      const record = `[data-record="${(i * 3571) % 10_000}"]`;
      const row = /** @type {HTMLElement} */ (document.querySelector(record));
      const start = performance.now();
      row.click();
      await painted();
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[10];
  });
}

/** The longest frame while the list is scrolled from its start to its end. */
async function scroll(page) {
  return page.evaluate(async () => {
    const list = /** @type {HTMLElement} */ (document.querySelector('.trace .scroller'));
    list.dispatchEvent(new WheelEvent('wheel'));
    list.scrollTop = 0;
    await new Promise((done) => setTimeout(done, 300));
    let worst = 0;
    let before = await new Promise(requestAnimationFrame);
    for (let i = 0; i < 240; i += 1) {
      list.scrollTop += list.scrollHeight / 240;
      const now = await new Promise(requestAnimationFrame);
      worst = Math.max(worst, now - before);
      before = now;
    }
    return worst;
  });
}
