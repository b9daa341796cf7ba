import { CliFailure, usageFailure } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

/** Asks before something is lost. @throws CliFailure if the answer is no, or if there is no terminal to ask on and `--yes` was not given */
export async function confirmOrRefuse(terminal: Terminal, isSure: boolean | undefined, question: string): Promise<void> {
  if (isSure) return;
  if (!terminal.isInteractive) throw usageFailure(`${question} There is no terminal to ask on; give --yes.`);
  if (!(await terminal.confirm(question))) throw new CliFailure('failure', 'Nothing was changed.');
}
