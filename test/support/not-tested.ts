/**
 * Says on standard error what is not tested here, and why: of a file whose tests are all skipped, Jest shows nothing that it writes to the console.
 * @param error - what an installation has failed with; without the warnings of its program, and cut to a few lines
 */
export function notTested(what: string, error?: Error): void {
  const lines = (error?.message ?? '').split('\n').filter((line) => line.trim() !== '' && !/\bwarn/i.test(line));
  process.stderr.write(`${[`Not tested: ${what}.`, ...lines.slice(0, 4)].join('\n  ')}\n`);
}
