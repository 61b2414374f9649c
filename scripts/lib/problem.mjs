/** Something the reader can act on. It is shown as its one sentence, without a stack trace. */
export class Problem extends Error {}

/**
 * Runs a script's main function and turns a {@link Problem} into one sentence and exit code 1. Any other error is a mistake in
 * the scripts themselves, so it keeps its stack.
 */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    console.error(error instanceof Problem ? error.message : error);
    process.exitCode = 1;
  }
}
