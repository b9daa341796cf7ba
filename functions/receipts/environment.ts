import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of receipts. */
export const receiptVariables = {
  /** which executions get receipts: `keyed` or `all`; none if absent */
  receipts: 'RECEIPTS',
  /** KMS key id or ARN of the key that certifies the keys that sign receipts */
  receiptKey: 'RECEIPT_KEY_ID',
  /** KMS key id or ARN of the key that signs the receipt log's checkpoints */
  logKey: 'LOG_KEY_ID',
  /** bucket of the receipt log */
  logBucket: 'LOG_BUCKET',
} as const;

export const readReceiptEnvironment = readerOf(receiptVariables);
