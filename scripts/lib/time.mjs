/** Seconds since a `performance.now()` mark, as they are printed. */
export function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1);
}

/** Does one part of the work and prints how long it took, on one line. */
export async function timed(name, work) {
  const start = performance.now();
  const remark = await work();
  const note = typeof remark === 'string' ? ` (${remark})` : '';
  console.log(`${name}_s: ${secondsSince(start)}${note}`);
}
