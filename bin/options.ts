import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Parses values of options such as `-c name=value`. */
export const readPairs = (texts: readonly (string | boolean)[]): Record<string, string> =>
  Object.fromEntries(texts.map((text) => [...String(text).split(/=(.*)/s), ''].slice(0, 2)));

type Options = NonNullable<ParseArgsConfig['options']>;

/** Parses the options. With `--help`, prints the usage and exits. On an error, prints both and exits with 1. */
export function readOptions<const T extends Options>(options: T, usage: string) {
  if (process.argv.some((word) => word === '--help' || word === '-h')) {
    console.log(usage);
    return process.exit();
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    // keep only the first sentence; the rest does not apply here
    const [problem] = (error as Error).message.split(/[.\n]/);
    console.error(`${problem}.\n\n${usage}`);
    return process.exit(1);
  }
}
