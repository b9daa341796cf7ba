/** What `npx intent-gate` runs. */
import { runCommand } from './cli/program.ts';

process.exitCode = await runCommand(process.argv.slice(2));
