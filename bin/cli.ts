/** The program of `npx intent-gate`. */
import { runCommand } from './cli/program.ts';
import { printRemark } from './cli/terminal.ts';

process.exitCode = await runCommand(process.argv.slice(2)).catch((error: Error) => {
  // a bug in this program; its message may quote untrusted text
  printRemark(error.stack ?? error.message);
  return 1;
});
