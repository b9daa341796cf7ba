import { CliFailure } from '../cli/failure.ts';
import type { Terminal } from '../cli/terminal.ts';
import type { Result } from './apply.ts';
import type { Obstacle, Plan, Step } from './plan.ts';

/** Longer lists are cut for people; `--json` has all of it. */
const maxLines = 100;

const signs = { create: ['green', '+'], 'put back': ['green', '+'], replace: ['yellow', '~'], remove: ['red', '-'] } as const;

const words: Record<Step['action'], string> = {
  create: 'is created',
  'put back': 'is put back over its deletion',
  replace: 'is replaced',
  remove: 'is removed: the copy does not have it',
};

function showLines(terminal: Terminal, lines: readonly string[]): void {
  for (const line of lines.slice(0, maxLines)) terminal.say(line);
  if (lines.length > maxLines) terminal.say(`  ... and ${lines.length - maxLines} more; --json shows all`);
}

const showObstacles = (terminal: Terminal, obstacles: readonly Obstacle[]) =>
  showLines(
    terminal,
    obstacles.map(({ kind, id, message }) => `  ${terminal.style('red', '!')} ${kind} ${id}: ${message}`),
  );

const count = (steps: readonly Step[], action: Step['action']): number => steps.filter((step) => step.action === action).length;

/** What would be done, record by record. */
export function showPlan(terminal: Terminal, { steps, obstacles, unchanged }: Plan): void {
  showLines(
    terminal,
    steps.map(({ kind, id, name, action }) => {
      const [format, sign] = signs[action];
      const extent = kind === 'service' && action === 'remove' ? ', with all its intents' : '';
      return `  ${terminal.style(format, sign)} ${kind} ${id}  "${name}" ${words[action]}${extent}`;
    }),
  );
  showObstacles(terminal, obstacles);
  terminal.say(
    `${count(steps, 'create')} to create, ${count(steps, 'put back')} to put back, ${count(steps, 'replace')} to replace, ` +
      `${count(steps, 'remove')} to remove, ${unchanged} unchanged${obstacles.length > 0 ? `, ${obstacles.length} that cannot be restored` : ''}.`,
  );
}

export function showResult(terminal: Terminal, { done, failed }: Result): void {
  if (Object.values(done).every((times) => times === 0) && failed.length === 0) return;
  showObstacles(terminal, failed);
  terminal.say(
    `${done.create} created, ${done['put back']} put back, ${done.replace} replaced, ${done.remove} removed${failed.length > 0 ? `, ${failed.length} failed` : ''}.`,
  );
}

/** @throws CliFailure if something was left out */
export function requireResult({ obstacles }: Plan, { failed }: Result): void {
  const left = obstacles.length + failed.length;
  if (left === 0) return;
  throw new CliFailure(
    'failure',
    `${left} ${left === 1 ? 'record is' : 'records are'} not restored; the rest is done. The reasons are above.`,
  );
}
