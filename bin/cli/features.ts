/** The socket of the features in the command line: each adds its commands. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addReceipts } from './receipts/commands.ts';

export const features: readonly ((program: CommandUnknownOpts) => void)[] = [addReceipts];
