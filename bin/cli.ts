/** What `npx intent-gate` runs. */
import { runCommand } from './cli/program.ts';
import { printRemark } from './cli/terminal.ts';

process.exitCode = await runCommand(process.argv.slice(2)).catch((error: Error) => {
  // a mistake of this program; what it says may quote anybody
  printRemark(error.stack ?? error.message);
  return 1;
});
