/** Copies a link to the present run. */
import * as link from '../link.js';

const COPIED_MS = 2000;

/**
 * @param {object} parts
 * @param {import('../run/present.js').PresentRun} parts.present
 * @param {import('./setup.js').Setup} parts.setup
 * @param {import('./scenarios.js').Scenarios} parts.scenarios
 * @param {import('./selection.js').Selection} parts.selection
 * @param {import('./notices.js').Notices} parts.notices
 * @param {import('./display.js').Display} parts.display
 */
export async function share({ present, setup, scenarios, selection, notices, display }) {
  const { selected } = selection;
  const { view, prepared, records } = present;
  const scenario = setup.about?.id ?? '';
  const record = selected === null ? null : records[selected];
  const run = prepared ? null : view;
  const address = link.write({
    scenario,
    off: run ? run.mechanisms.filter(({ on }) => !on).map(({ id }) => id) : [...setup.off],
    seed: view?.seed ?? null,
    done: present.done,
    branch: present.branch,
    at: selected,
    is: record ? link.signOf(record) : null,
  });
  try {
    await navigator.clipboard.writeText(address);
    display.show({ shared: true });
    setTimeout(() => display.show({ shared: false }), COPIED_MS);
  } catch {
    notices.complain(`The browser does not let this page copy. The link is ${address}`);
  }
  const doubt = link.doubt(scenarios.all, scenario, present.origin);
  if (doubt) notices.complain(doubt);
}
