import { CliFailure, usageFailure } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

/** Asks before something is lost. @throws CliFailure where the answer is no, or nobody can be asked and `--yes` was not given */
export async function confirmOrRefuse(terminal: Terminal, isSure: boolean | undefined, question: string): Promise<void> {
  if (isSure) return;
  if (!terminal.isInteractive) throw usageFailure(`${question} Nobody can be asked here: say --yes.`);
  if (!(await terminal.confirm(question))) throw new CliFailure('failure', 'Nothing was changed.');
}
