import { definePartitions, type Key } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    newReceipt: true;
    loggedReceipt: true;
    receiptLog: true;
  }
}

const waitingPrefix = 'RECEIPT#';

const key = definePartitions({
  newReceipt: { table: 'activity', prefix: waitingPrefix },
  loggedReceipt: { table: 'activity', prefix: 'LOGGED#' },
  receiptLog: { table: 'activity', prefix: 'RECEIPTLOG#' },
});

/**
 * The partitions of waiting receipts, by the last character of the execution id (Crockford's base 32), which is random. Each sustains about 1,000
 * writes a second, or 500 receipts, which are written and deleted.
 */
export const newReceiptPartitions = (): string[] => [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'].map((last) => waitingPrefix + last);

export const receiptKeys = {
  /** a receipt that is not in the log yet */
  newReceipt: (executionId: string): Key => key('newReceipt', executionId.slice(-1), executionId),
  /** @param origin - name of the log */
  loggedReceipt: (executionId: string, origin: string): Key => key('loggedReceipt', executionId, origin),
  /** size and checkpoint of a log of receipts, and the run that extends it */
  receiptLog: (origin: string): Key => key('receiptLog', origin, 'HEAD'),
  /** entries that are being appended, in a partition of their own, because they are large */
  receiptPage: (origin: string, page: string): Key => key('receiptLog', `${origin}#${page}`, 'PAGE'),
};
