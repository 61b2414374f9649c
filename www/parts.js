/** Creates the parts of the page and connects them. Apart from main.js, nothing else knows more of them than it needs. */
import { ArmedCrash } from './page/armed-crash.js';
import { Commands } from './page/commands.js';
import { Decisions } from './page/decisions.js';
import { Display } from './page/display.js';
import { Notices } from './page/notices.js';
import { Scenarios } from './page/scenarios.js';
import { Selection } from './page/selection.js';
import { Setup } from './page/setup.js';
import { ShownRun } from './page/shown-run.js';
import { BackgroundRuns } from './run/background.js';
import { Driver } from './run/driver.js';
import { PresentRun } from './run/present.js';
import { SavedRuns } from './run/saved.js';
import { RunSwitcher } from './run/switching.js';

/** @typedef {ReturnType<typeof createParts>} Parts */

/** @param {() => void} draw */
export function createParts(draw) {
  const notices = new Notices(draw);
  const display = new Display(draw);
  const scenarios = new Scenarios();
  const present = new PresentRun({
    changed,
    failed: (error) => notices.complain(error),
    stop: () => driver.stop(),
  });
  const driver = new Driver(present);
  const background = new BackgroundRuns();
  const saved = new SavedRuns(present, background);
  const switcher = new RunSwitcher(present, background, saved);
  const selection = new Selection(present, driver, notices, draw);
  const armedCrash = new ArmedCrash(present, notices, draw);
  const decisions = new Decisions(present, driver, selection, notices);
  const runs = { present, driver, background, saved, switcher };
  const page = { notices, display, scenarios, selection, armedCrash, decisions };
  const setup = new Setup({ ...runs, ...page, refreshOffers, draw });
  const commands = new Commands({ ...runs, ...page, setup, refreshOffers });
  const shownRun = new ShownRun({ ...runs, ...page, setup, commands, refreshOffers, draw });
  return { ...runs, ...page, setup, commands, shownRun, refreshOffers };

  /** The present run has changed. */
  function changed() {
    armedCrash.sync();
    selection.showNewest();
    if (present.view && !present.prepared && !driver.races) notices.announce(present.view);
    draw();
  }

  async function refreshOffers() {
    try {
      await saved.refresh();
    } catch (error) {
      notices.complain(error);
    }
    draw();
  }
}
