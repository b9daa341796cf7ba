import { serveSchedule } from '../core/http/serve.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';
import { type ReceiptLog, receiptLogFromEnvironment } from './log-store.ts';
import { openSequencer } from './sequencer.ts';

export interface Deps {
  log: ReceiptLog | undefined;
  table: Table;
}

/** Appends receipts to the log, once a minute. Overlapping runs append nothing twice. */
export function createAction({ log, table }: Deps): (event: unknown, remainingMs: () => number) => Promise<void> {
  if (!log) throw new TypeError('the log of receipts is not configured');
  const sequence = openSequencer(log, table);
  return (_event, remainingMs) => sequence(remainingMs);
}

export const handler = serveSchedule(createAction({ log: receiptLogFromEnvironment(), table: tableFromEnvironment() }));
