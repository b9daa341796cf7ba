import { beforeEach, describe, expect, test } from '@jest/globals';
import { examineAdopted, findLeftKeys } from '../../../bin/doctor/adopted.ts';
import { parseSettings } from '../../../lib/settings.ts';
import { arn, complete, policyOf, role, startAccount } from '../../support/adopted.ts';

const { answers, answerAll, credentials } = await startAccount();

describe('an adopted log of receipts', () => {
  const [receiptKey, logKey] = ['arn:aws:kms:eu-west-1:123456789012:key/1', 'arn:aws:kms:eu-west-1:123456789012:key/2'];
  const ofLog = { receiptKey, logKey, receiptBucket: 'log-1' };
  const policies = { ReceiptKeyPolicy: policyOf(role), LogKeyPolicy: policyOf(`${role}-log`) };
  const examineLog = (outputs?: Record<string, string>) =>
    examineAdopted(ofLog, outputs, { maxAttempts: 1, region: 'eu-west-1', credentials });
  const edwards = { ...complete().DescribeKey.KeyMetadata, KeySpec: 'ECC_NIST_EDWARDS25519' };

  beforeEach(() => {
    answerAll();
    answers.DescribeKey = { KeyMetadata: edwards };
    answers['HEAD /log-1'] = {};
  });

  test('an adopted log of receipts is complete before the deployment', async () => {
    expect(await examineLog()).toEqual([]);
  });

  test('an adopted log of receipts needs its own policy on each key', async () => {
    expect((await examineLog({ ...policies, ReceiptKeyPolicy: policyOf('another') })).map(({ detail }) => detail)).toEqual([
      'the receipt key does not allow this stack to sign, so executions that need a receipt are answered with 503',
      'the log key does not allow this stack to sign, so no receipt gets into the log',
    ]);
    expect(await examineLog(policies)).toEqual([
      {
        detail: 'the log key does not allow this stack to sign, so no receipt gets into the log',
        canWait: true,
        remedy: `aws kms put-key-policy --key-id ${logKey} --policy '${policies.LogKeyPolicy}'`,
      },
    ]);
  });

  test.each<{ what: string; operation: string; answer?: object; expected: string[] }>([
    { what: 'a bucket that does not exist', operation: 'HEAD /log-1', expected: ['bucket not found: log-1'] },
    { what: 'keys that do not exist', operation: 'DescribeKey', expected: [`key not found: ${receiptKey}`, `key not found: ${logKey}`] },
    {
      what: 'keys that sign PATs',
      operation: 'DescribeKey',
      answer: complete().DescribeKey,
      expected: ['the receipt key is not an Ed25519 signing key', 'the log key is not an Ed25519 signing key'],
    },
    {
      what: 'keys that are disabled',
      operation: 'DescribeKey',
      answer: { KeyMetadata: { ...edwards, KeyState: 'Disabled' } },
      expected: ['the receipt key is Disabled', 'the log key is Disabled'],
    },
  ])('an adopted log of receipts may not have $what', async ({ operation, answer, expected }) => {
    if (answer) answers[operation] = answer;
    else delete answers[operation];
    expect((await examineLog()).map(({ detail }) => detail)).toEqual(expected);
  });
});

test.each<[string, Record<string, unknown>, string[]]>([
  ['are named', { receipts: 'keyed', adopt: { signingKeys: { first: arn } } }, ['adopt.receiptKey', 'adopt.logKey']],
  [
    'are not, if they are adopted',
    { receipts: 'all', adopt: { signingKeys: { first: arn }, receiptKey: arn, logKey: `${arn}2`, receiptBucket: 'log-1' } },
    [],
  ],
])('keys of receipts that an earlier stack left %s', async (_, settings, expected) => {
  answerAll();
  answers.DescribeKey = { KeyMetadata: { ...complete().DescribeKey.KeyMetadata, Arn: arn } };
  const found = await findLeftKeys(parseSettings(settings), { maxAttempts: 1, region: 'eu-west-1', credentials });
  expect(found.map(({ remedy }) => /adopt\.\w+/.exec(remedy)?.[0])).toEqual(expected);
});
