// `make bench-explorer`: states per second of the search, natively and in the page's wasm, and how long the default matrix takes.
import { build } from './build.mjs';
import { install } from './install.mjs';
import { launchBrowser } from './lib/browser.mjs';
import { main, Problem } from './lib/problem.mjs';
import { capture } from './lib/process.mjs';
import { serve } from './serve.mjs';

const ROUNDS = 5;

await main(async () => {
  await install({ browser: true });
  await build();
  const native = await benchNatively();
  const { statesPerS, matrixMs } = await benchInPage();
  console.log(`states_per_s_native: ${native.states_per_s_native}`);
  console.log(`states_per_s_wasm: ${statesPerS}`);
  console.log(`wasm_to_native: ${(statesPerS / native.states_per_s_native).toFixed(2)}`);
  console.log(`ours_to_stateright: ${native.ours_to_stateright.toFixed(2)}`);
  console.log(`matrix_ms: ${matrixMs}`);
});

async function benchNatively() {
  const { code, output } = await capture('cargo', ['bench', '-q', '--bench', 'explorer']);
  if (code !== 0)
    throw new Problem('The native benchmark failed, for the reason that stands above.');
  const figures = output.matchAll(/^(\w+): ([\d.]+)$/gm);
  return Object.fromEntries([...figures].map(([, name, figure]) => [name, Number(figure)]));
}

/**
 * The built page, driven by its buttons. Each round is a fresh page, so the matrix is the first thing that its worker does. As natively,
 * the round that was disturbed least counts.
 */
async function benchInPage() {
  const server = await serve();
  const browser = await launchBrowser();
  let [statesPerS, matrixMs] = [0, Infinity];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const page = await browser.newPage();
      await page.goto(`${server.url}?explore#v=1&scenario=double-charge&seed=1`);
      const dialog = page.getByRole('dialog', { name: 'Explore' });
      await dialog.waitFor();
      await page.waitForLoadState('networkidle');
      matrixMs = Math.min(matrixMs, (await complete(dialog)).ms);
      await dialog.getByRole('button', { name: 'Every run' }).click();
      await dialog.getByLabel('Faults, up to').selectOption('1');
      const { ms, states } = await complete(dialog);
      statesPerS = Math.max(statesPerS, (1000 * states) / ms);
      await page.close();
    }
  } finally {
    await browser.close();
    await server.close();
  }
  return { statesPerS: Math.round(statesPerS), matrixMs: Math.round(matrixMs) };
}

/** From the press of the button until the page says that it is complete. */
function complete(dialog) {
  return dialog.evaluate(
    (dialog) =>
      new Promise((resolve) => {
        const start = performance.now();
        const figures = () =>
          [...dialog.querySelectorAll('.progress dd')].map(({ textContent }) => textContent);
        const look = new MutationObserver(() => {
          const [state, states] = figures();
          if (state !== 'complete') return;
          look.disconnect();
          const ms = performance.now() - start;
          resolve({ ms, states: Number(states.replaceAll(',', '')) });
        });
        look.observe(dialog, { childList: true, characterData: true, subtree: true });
        dialog.querySelector('.start').click();
      }),
  );
}
