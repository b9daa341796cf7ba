import { parseArgs } from 'node:util';

/** Reads numeric command-line options, each with its default. */
export function readNumbers<T extends Record<string, number>>(defaults: T): T {
  const options = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: String(value) }] as const);
  const { values } = parseArgs({ options: Object.fromEntries(options) });
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)])) as T;
}
