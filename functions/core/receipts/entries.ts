import { createHash } from 'node:crypto';
import { keys } from '../table/keys.ts';
import type { Item } from '../table/table.ts';

/** A receipt as the log has it: when publishing the log, nothing but times and numbers of executions becomes known. */
export interface Entry {
  executionId: string;
  /** SHA-256 of the receipt, base64url */
  digest: string;
}

export const toEntry = (executionId: string, receipt: string): Entry => ({
  executionId,
  digest: createHash('sha256').update(receipt).digest('base64url'),
});

/** The text in the log. */
export const spellEntry = ({ executionId, digest }: Entry): string => `${executionId} ${digest}`;

/** A receipt that waits for its place in the log. */
export interface NewReceiptItem extends Item {
  digest: string;
}

export const newReceiptItem = ({ executionId, digest }: Entry) => ({ ...keys.newReceipt(executionId), digest });
