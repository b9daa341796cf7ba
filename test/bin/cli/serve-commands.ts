/** A process that runs one command line after the other, so that only the first one loads the program. It ends with the process that asked for it. */
import { Readable } from 'node:stream';
import { runCommand } from '../../../bin/cli/program.ts';
import { printRemark } from '../../../bin/cli/terminal.ts';
import type { Outcome } from './command-line.ts';

const written = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
}

process.on('message', async ({ words, input }: { words: string[]; input: string }) => {
  Object.assign(written, { stdout: '', stderr: '' });
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  const code = await runCommand(words).catch((error: Error) => {
    printRemark(error.stack ?? error.message);
    return 1;
  });
  process.send?.({ code, ...written } satisfies Outcome);
});
process.on('disconnect', () => process.exit());
