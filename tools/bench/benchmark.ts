import { parseArgs } from 'node:util';

/** @throws RangeError if a command-line option is not a count */
function readCount(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new RangeError(`--${name} must be a whole number from 1 to 9999999`);
  return Number(text);
}

/**
 * Makes a command of a measurement.
 * @param usage - the output of `--help`
 * @param defaults - defaults of all options except `--help`, whose types say whether an option is a count, a string or a flag
 * @returns a function that runs it with command-line arguments
 */
export const benchmark =
  <T extends Record<string, number | string | boolean>>(usage: string, defaults: T, measure: (options: T) => Promise<void>) =>
  async (args: string[]): Promise<void> => {
    const options = Object.entries(defaults).map(
      ([name, value]) => [name, { type: typeof value === 'boolean' ? 'boolean' : 'string' }] as const,
    );
    const { values } = parseArgs({ args, options: { ...Object.fromEntries(options), help: { type: 'boolean', short: 'h' } } });
    if (values.help) return console.log(usage);
    const given = Object.entries(values).map(([name, value]) => [
      name,
      typeof defaults[name] === 'number' ? readCount(name, String(value)) : value,
    ]);
    return measure({ ...defaults, ...Object.fromEntries(given) });
  };
