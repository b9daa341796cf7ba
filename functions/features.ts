/**
 * The socket of the features: what each adds to the core of the functions. A feature is a folder of the same name here and, where it
 * needs them, in `schemas/`, `lib/`, `bin/cli/`, `console/app/`, `registry/` and `test/`; nothing else of `functions/` imports it. `npm run without -- <feature>` shows what remains if it is deleted.
 */
import { type Around, nest } from './core/execution/around.ts';
import type { Table } from './core/table/table.ts';
import { receiptsFromEnvironment } from './receipts/around.ts';

/** Around the attempt of each call, the first outermost. */
const around: readonly ((table: Table) => Around)[] = [receiptsFromEnvironment];

export const aroundFromEnvironment = (table: Table): Around => nest(...around.map((open) => open(table)));
