/**
 * The lists of a view that only grow. The engine sends what is new, so that a frame costs the same late in a run as early; this
 * keeps the whole lists.
 *
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 */
export class Growing {
  /** @type {NonNullable<LabView['memory']>['messages']} */
  #messages = [];
  /** @type {LabView['world'] | null} */
  #world = null;

  get messages() {
    return this.#messages.length;
  }

  get rows() {
    return this.#world?.rows ?? 0;
  }

  /** The next agent has a conversation of its own. */
  forgetAgent() {
    this.#messages = [];
  }

  /**
   * Adds what is new to the lists, and puts the whole lists into the view.
   * @param {LabView} view
   */
  complete(view) {
    const { memory, world } = view;
    if (memory) {
      this.#messages.push(...memory.messages);
      memory.messages = this.#messages;
    } else {
      this.forgetAgent();
    }
    const kept = this.#world;
    if (kept) {
      for (const list of /** @type {const} */ (['refunds', 'notes', 'outbox', 'requests'])) {
        /** @type {unknown[]} */ (kept[list]).push(...world[list]);
        /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (world))[list] = kept[list];
      }
      for (const question of world.inbox) {
        const index = kept.inbox.findIndex(({ seq }) => seq === question.seq);
        kept.inbox.splice(index < 0 ? kept.inbox.length : index, 1, question);
      }
      world.inbox = kept.inbox;
    }
    this.#world = world;
    return view;
  }
}
