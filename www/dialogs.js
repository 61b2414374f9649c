/**
 * Opens the windows over the page, each loaded when it is first wanted. A window gets the few functions that it needs, as its own
 * `Host` type lists them.
 *
 * @typedef {import('./explorer/index.js').OpenOptions} ExploreOptions
 * @typedef {ReturnType<typeof createDialogs>} Dialogs
 */

/** @param {import('./parts.js').Parts} parts */
export function createDialogs(parts) {
  const { present, scenarios, setup, selection, notices, display, shownRun, commands } = parts;
  const about = () => setup.about;
  const off = () => setup.off;
  const loadScenario = (/** @type {string} */ id) => scenarios.load(id);
  const foreign = () => selection.foreign;

  /** @param {() => Promise<unknown>} action */
  async function attempt(action) {
    try {
      await action();
    } catch (error) {
      notices.complainNotLoaded(error);
    }
  }

  /** @returns {import('./files/index.js').Host} */
  const filesHost = () => ({
    about,
    foreign,
    loadScenario,
    scenarios: () => scenarios.all,
    run: () => present,
    showTrace: (trace) => selection.showTrace(trace),
    closeTrace: () => selection.closeTrace(),
    draw: () => display.show({}),
    replayFile: (opened) => shownRun.replayFile(opened),
    setUp: (about, checkpoint) => setup.use(about, { checkpoint }),
  });

  /** Reads a file and shows what is in it. @param {File} file @returns {Promise<boolean>}  Whether the page shows a trace from it. */
  const take = async (file) => (await import('./files/index.js')).take(filesHost(), file);

  return {
    files: () => attempt(async () => (await import('./files/index.js')).open(filesHost())),

    /** @param {File} file */
    take: (file) => attempt(() => take(file)),

    edit: () =>
      attempt(async () =>
        (await import('./editor/index.js')).open({
          about,
          loadScenario,
          shipped: () => scenarios.shipped,
          read: (text) => scenarios.read(text),
          scenariosChanged() {
            scenarios.refresh();
            display.show({});
          },
          run(about) {
            setup.use(about);
            commands.toggle();
          },
        }),
      ),

    report: () =>
      attempt(async () =>
        (await import('./reports/index.js')).open({
          about,
          off,
          foreign,
          records: () => selection.records,
          seed: () => present.view?.seed ?? null,
          questions: () => present.view?.world.inbox ?? [],
          take,
          showRecord(record) {
            selection.select(record);
            display.show({ tab: 'trace' });
          },
        }),
      ),

    /** @param {ExploreOptions} [options] */
    explore: (options = {}) =>
      attempt(async () =>
        (await import('./explorer/index.js')).open(
          {
            about,
            off,
            loadScenario,
            scenarios: () => scenarios.all,
            mechanisms: () => setup.mechanisms,
            titleOf: (json) => scenarios.read(json).title,
            invariantName: (id) =>
              present.view?.invariants.find((one) => one.id === id)?.name ?? id,
            replayAll: (runs) => shownRun.replayAll(runs),
            take,
          },
          options,
        ),
      ),

    /** A tool call as a request to a tool server. @param {import('./pkg/crashlab.js').RecordView} record */
    mcp: (record) =>
      attempt(async () =>
        (await import('./files/mcp.js')).open(
          { about, foreign, records: () => selection.records },
          record,
        ),
      ),
  };
}
