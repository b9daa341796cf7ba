import type { Parameter } from '../../../schemas/parameter.ts';
import type { Terminal } from '../terminal.ts';

/** A record as names and values. */
export function showRecord(terminal: Terminal, record: Record<string, unknown>): void {
  terminal.table(
    Object.entries(record).map(([name, value]) => [terminal.style('dim', name), typeof value === 'string' ? value : JSON.stringify(value)]),
  );
  terminal.json(record);
}

/** What a parameter is, in one line. */
export function describeParameter({ name, type, required, description, ...rest }: Parameter): string {
  const constraints = Object.entries(rest).map(([constraint, value]) => `${constraint} ${JSON.stringify(value)}`);
  const facts = [type, ...(required ? [] : ['optional']), ...constraints].join(', ');
  return `${name} (${facts})${description === undefined ? '' : `: ${description.split('\n')[0]}`}`;
}
