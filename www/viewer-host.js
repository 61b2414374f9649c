/** What the viewer may ask of the page. */

/** @typedef {ReturnType<typeof viewerHost>} ViewerHost */

/**
 * @param {import('./parts.js').Parts} parts
 * @param {import('./dialogs.js').Dialogs} dialogs
 */
export function viewerHost(parts, dialogs) {
  const { present, driver, background, saved, setup, shownRun, commands } = parts;
  const { selection, armedCrash, decisions, display, notices } = parts;
  return {
    dialogs,
    /** The run itself. */
    engine: {
      get view() {
        return present.view;
      },
      get records() {
        return present.records;
      },
      get running() {
        return driver.running;
      },
      get prepared() {
        return present.prepared;
      },
      get taken() {
        return present.taken;
      },
      get lasting() {
        return present.lasting;
      },
      get name() {
        return present.name;
      },
      set name(name) {
        present.name = name;
      },
      /** Background runs, by run id. */
      shelf: background.byId,
      /** Opens a saved run in the background. @param {string} run_id @param {string} name */
      shelve: (run_id, name) => background.open(run_id, name),
      /** What a comparison shows of a background run. @param {string} run_id */
      beside: (run_id) => background.summary(run_id),
      /** @param {string} run_id */
      isKept: (run_id) => saved.has(run_id),
      /** @param {number} record */
      detail: (record) => present.detail(record),
    },
    get about() {
      return setup.about;
    },
    get offers() {
      return saved.offers;
    },
    get found() {
      return present.foundDead;
    },
    get records() {
      return selection.records;
    },
    get selected() {
      return selection.selected;
    },
    get detail() {
      return selection.detail;
    },
    get foreign() {
      return selection.foreign;
    },
    get side() {
      return display.side;
    },
    get helpOpen() {
      return display.helpOpen;
    },
    get comparing() {
      return shownRun.comparedWith;
    },
    get question() {
      return decisions.question;
    },
    get gaps() {
      return armedCrash.gaps;
    },
    get gapFilter() {
      return armedCrash.filter;
    },
    attempt: (/** @type {() => unknown} */ action) => notices.attempt(action),
    select: (/** @type {number} */ record) => selection.select(record),
    now: () => selection.backToNow(),
    closeTrace: () => selection.closeTrace(),
    /** @param {string} approval_key */
    formFor: (approval_key) => decisions.formFor(approval_key),
    /** @param {string} approval_key @param {'approved' | 'denied'} decision */
    decide: (approval_key, decision) => decisions.decide(approval_key, decision),
    /** @param {string} run_id */
    look: (run_id) => shownRun.open(run_id),
    /** @param {string} run_id */
    takeUp: (run_id) => shownRun.resume(run_id),
    /** @param {string} run_id */
    forget: (run_id) => shownRun.forget(run_id),
    /** @param {string} run_id */
    switchTo: (run_id) => shownRun.switchTo(run_id),
    /** @param {string | null} run_id */
    compare: (run_id) => shownRun.compareWith(run_id),
    resume: () => commands.resume(),
    reset: () => commands.reset(),
    crashForReal: () => commands.crashForReal(),
    /** @param {import('./pkg/crashlab.js').Gap | null} gap */
    arm: (gap) => armedCrash.arm(gap),
    /** @param {Partial<Pick<import('./page/display.js').Display, 'side' | 'helpOpen'>> & { gapFilter?: string }} change */
    show({ gapFilter = armedCrash.filter, ...change }) {
      armedCrash.filter = gapFilter;
      display.show(change);
    },
  };
}
