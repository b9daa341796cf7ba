import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options of this program. Where one of them is wrong, the program says which, shows its usage and ends with 1. */
export function readOptions<const T extends Options>(options: T, usage: string) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    // what follows the first sentence is about other commands than ours
    const [problem] = (error as Error).message.split(/[.\n]/);
    console.error(`${problem}.\n\n${usage}`);
    return process.exit(1);
  }
}
