/** Which scenario's world a run from a checkpoint meets: one that is about the same ticket, if there is one. */

/**
 * @typedef {{ id: string, title: string, task_id: string | null }} World
 * @param {{ id: string, title: string, load: () => Promise<string> }[]} scenarios
 * @returns {Promise<World[]>}
 */
export function worlds(scenarios) {
  const read = async (/** @type {(typeof scenarios)[number]} */ { id, title, load }) => {
    try {
      return { id, title, task_id: String(JSON.parse(await load()).task.id) };
    } catch {
      // A custom scenario may be one that cannot be read.
      return { id, title, task_id: null };
    }
  };
  return Promise.all(scenarios.map(read));
}

/**
 * Those about the ticket first, and of these the present one.
 * @param {World[]} all
 * @param {string} task_id
 * @param {string} [present]
 */
export function byTicket(all, task_id, present) {
  const same = all
    .filter((world) => world.task_id === task_id)
    .sort((a, b) => Number(b.id === present) - Number(a.id === present));
  return { same, others: all.filter((world) => world.task_id !== task_id) };
}
