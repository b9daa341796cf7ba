import { expect, test } from '@jest/globals';
import { describeDecisions, parseSettings, warnOfRates } from '../../../lib/settings.ts';
import { mistakes } from '../../support/settings.ts';

const receiptLog = {
  receiptKey: 'arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555',
  logKey: 'arn:aws:kms:eu-west-1:123456789012:key/66666666-7777-8888-9999-000000000000',
  receiptBucket: 'intentgate-log',
};

test.each<[Record<string, unknown>, string]>([
  [{ receipts: 'some' }, 'receipts: must be off, keyed or all'],
  [{ receipts: 'off', adopt: receiptLog }, 'adopt.receiptKey: needs receipts: keyed or all'],
  [{ adopt: { ...receiptLog, receiptKey: receiptLog.logKey } }, 'adopt.logKey: must differ from receiptKey'],
  [{ adopt: { ...receiptLog, logKey: 'alias/IntentGate/log' } }, 'adopt.logKey: must be the ARN of a KMS key, not of an alias'],
  [{ adopt: { ...receiptLog, receiptBucket: 'Log' } }, 'adopt.receiptBucket: must be the name of an S3 bucket'],
  [{ adopt: { ...receiptLog, receiptBucket: 'arn:aws:s3:::intentgate-log' } }, 'adopt.receiptBucket: must be the name of an S3 bucket'],
])('the settings of receipts %j are refused', (given, expected) => {
  expect(mistakes({ receipts: 'keyed', ...given })).toEqual([expected]);
});

const listed = (id: string) =>
  `"aws cloudformation describe-stack-events --stack-name <ARN of the stack that left them>" lists it with the status DELETE_SKIPPED; its LogicalResourceId begins with ${id}`;

test.each<[given: (keyof typeof receiptLog)[], expected: string[]]>([
  [
    ['receiptKey'],
    [
      `adopt.logKey: must be given with receiptKey. ${listed('LogKey')}`,
      `adopt.receiptBucket: must be given with receiptKey. ${listed('ReceiptLog')}`,
    ],
  ],
  [
    ['receiptBucket'],
    [
      `adopt.receiptKey: must be given with receiptBucket. ${listed('ReceiptKey')}`,
      `adopt.logKey: must be given with receiptBucket. ${listed('LogKey')}`,
    ],
  ],
  [['receiptKey', 'logKey'], [`adopt.receiptBucket: must be given with receiptKey and logKey. ${listed('ReceiptLog')}`]],
  [['logKey', 'receiptBucket'], [`adopt.receiptKey: must be given with logKey and receiptBucket. ${listed('ReceiptKey')}`]],
  [['receiptKey', 'receiptBucket'], [`adopt.logKey: must be given with receiptKey and receiptBucket. ${listed('LogKey')}`]],
  [['receiptKey', 'logKey', 'receiptBucket'], []],
])('a stack adopts all parts of the log of receipts, or none: %j', (names, expected) => {
  const adopt = Object.fromEntries(names.map((name) => [name, receiptLog[name]]));
  expect(mistakes({ receipts: 'keyed', adopt })).toEqual(expected);
  expect(mistakes({ receipts: 'all', adopt: { ...adopt, registryTable: 'R-1', activityTable: 'A-1' } })).toEqual(expected);
});

test('synthesis says that it adopts the log of receipts', () => {
  expect(describeDecisions(parseSettings({ receipts: 'keyed', adopt: receiptLog }))).toMatch(
    / Adopted, not created: the bucket intentgate-log\.$/,
  );
});

test('receipts are among what is used up first at high rates', () => {
  const [warning] = warnOfRates(parseSettings({ requestsPerSecond: 3_001, receipts: 'all' }));
  expect(warning).toContain(', the receipts, which take 3 more write units each. See Limits');
});
