import { hash } from 'node:crypto';
import type { Item } from '../core/table/table.ts';
import { receiptKeys } from './records.ts';

/** An entry of the receipt log. Publishing the log reveals only the times and the number of executions. */
export interface Entry {
  executionId: string;
  /** SHA-256 of the receipt, base64url */
  digest: string;
}

export const toEntry = (executionId: string, receipt: string): Entry => ({
  executionId,
  digest: hash('sha256', receipt, 'base64url'),
});

/** The entry as text in the log. */
export const spellEntry = ({ executionId, digest }: Entry): string => `${executionId} ${digest}`;

/** A receipt that is not in the log yet. */
export interface NewReceiptItem extends Item {
  digest: string;
}

export const newReceiptItem = ({ executionId, digest }: Entry) => ({ ...receiptKeys.newReceipt(executionId), digest });
