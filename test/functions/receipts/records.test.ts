import { expect, test } from '@jest/globals';
import { partitions, tableOf } from '../../../functions/core/table/keys.ts';
import { newReceiptPartitions, receiptKeys } from '../../../functions/receipts/records.ts';

const id = '01JWQ3K8Z5N7T9V2X4Y6B8D0FG';

test.each([
  ['newReceipt', receiptKeys.newReceipt(id)],
  ['loggedReceipt', receiptKeys.loggedReceipt(id, 'log')],
  ['receiptLog', receiptKeys.receiptLog('log')],
] as const)('keys of %s are in their partition of the activity table', (kind, { pk }) => {
  expect([pk.startsWith(partitions[kind].prefix), tableOf(pk)]).toEqual([true, 'activity']);
});

test('a waiting receipt is in one of the partitions that are read', () => {
  expect(newReceiptPartitions()).toContain(receiptKeys.newReceipt(id).pk);
});
