import { ApiError } from '../core/runtime/api-error.ts';
import { isUlid } from '../core/runtime/ulid.ts';
import type { Table } from '../core/table/table.ts';
import type { ReceiptLog } from './log-store.ts';
import { inclusionNote } from './note.ts';
import { receiptKeys } from './records.ts';
import type { HeadItem, LoggedItem } from './sequencer.ts';
import { readInclusion } from './tiles.ts';

export const noReceipts = () => new ApiError('NOT_FOUND', 'This gate does not issue receipts, so it has no log of them.');

const soon = { details: { reason: 'waiting' }, headers: { 'Retry-After': '60' } };

/** @throws ApiError NOT_FOUND if the log has not been created yet, within a minute of the deployment */
export async function requireHead(table: Pick<Table, 'get'>, origin: string): Promise<HeadItem> {
  const head = await table.get<HeadItem>(receiptKeys.receiptLog(origin));
  if (!head?.checkpoint)
    throw new ApiError('NOT_FOUND', 'The log of receipts begins within a minute of the deployment. Ask again then.', soon);
  return head;
}

/**
 * Proves that the receipt of an execution is in the log, against the newest checkpoint.
 * @throws ApiError NOT_FOUND if the log does not contain the receipt
 */
export async function proveInclusion(
  table: Pick<Table, 'get'>,
  { origin, store }: Pick<ReceiptLog, 'origin' | 'store'>,
  executionId: string,
): Promise<string> {
  const logged = isUlid(executionId) ? await table.get<LoggedItem>(receiptKeys.loggedReceipt(executionId, origin)) : undefined;
  if (!logged) {
    const isWaiting = isUlid(executionId) && (await table.get(receiptKeys.newReceipt(executionId))) !== undefined;
    throw isWaiting
      ? new ApiError('NOT_FOUND', 'The receipt is not in the log yet. Ask again in a minute; it takes five minutes at most.', soon)
      : new ApiError('NOT_FOUND', 'No execution with this id has a receipt in the log. Take the id from the receipt.');
  }
  const { size, checkpoint } = await requireHead(table, origin);
  return inclusionNote(logged.index, await readInclusion(store.read, logged.index, size), checkpoint);
}
