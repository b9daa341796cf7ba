import { beforeEach, describe, expect, test } from '@jest/globals';
import { examineAdopted, findLeftKeys, signersOf } from '../../../bin/doctor/adopted.ts';
import { parseSettings } from '../../../lib/settings.ts';
import { adopt, arn, complete, policyOf, role, startAccount } from '../../support/adopted.ts';

const { answers, answerAll, credentials } = await startAccount();

beforeEach(answerAll);

const examine = (SigningKeyPolicy?: string) =>
  examineAdopted(adopt, SigningKeyPolicy ? { SigningKeyPolicy } : undefined, { maxAttempts: 1 });

test('complete resources have no problem, before and after the deployment', async () => {
  expect(await examine()).toEqual([]);
  expect(await examine(policyOf(role))).toEqual([]);
  expect(await examineAdopted({}, undefined, {})).toEqual([]);
});

test('a key that lets the role of the deleted stack sign is reported, with the command that corrects it', async () => {
  answers.GetKeyPolicy = { Policy: policyOf('AROAEXAMPLEID') };
  expect(await examine()).toEqual([]);
  expect(await examine(policyOf(role))).toEqual([
    {
      detail: 'the key "first" does not allow this stack to sign, so it cannot issue PATs',
      canWait: true,
      remedy: `aws kms put-key-policy --key-id ${arn} --policy '${policyOf(role)}'`,
    },
  ]);
});

describe('keys that an earlier stack left under an alias', () => {
  const found = (settings: Record<string, unknown>) =>
    findLeftKeys(parseSettings(settings), { maxAttempts: 1, region: 'eu-west-1', credentials });

  test.each<[string, Record<string, unknown>, string[]]>([
    ['a signing key', {}, ['alias/IntentGate/first adopt.signingKeys.first']],
    ['the signing key of another stage', { stage: 'test' }, ['alias/IntentGate-test/first adopt.signingKeys.first']],
    [
      'each signing key',
      { signingKeys: '2027,first' },
      ['alias/IntentGate/2027 adopt.signingKeys.2027', 'alias/IntentGate/first adopt.signingKeys.first'],
    ],
    [
      'all but an adopted one',
      { signingKeys: '2027,first', adopt: { signingKeys: { first: arn } } },
      ['alias/IntentGate/2027 adopt.signingKeys.2027'],
    ],
  ])('keys that an earlier stack left are named with their ARN: %s', async (_, settings, expected) => {
    answers.DescribeKey = { KeyMetadata: { ...complete().DescribeKey.KeyMetadata, Arn: arn } };
    expect(await found(settings)).toEqual(
      expected.map((text) => {
        const [alias, setting] = text.split(' ');
        return {
          detail: `an earlier stack left the key ${alias}, and a new key cannot have the same alias`,
          remedy: `to adopt the key, set ${setting} in cdk.json to ${arn}; to have a new key: aws kms delete-alias --alias-name ${alias}`,
        };
      }),
    );
  });

  test('no keys are reported where an earlier stack left none', async () => {
    delete answers.DescribeKey;
    expect(await found({})).toEqual([]);
  });
});

test.each<[string, Record<string, object | undefined>, string[]]>([
  [
    'that nothing exists',
    { DescribeTable: undefined, DescribeUserPool: undefined, DescribeKey: undefined },
    ['table not found: R-1', 'table not found: A-1', 'user pool not found: eu-west-1_Abc', `key not found: ${arn}`],
  ],
  [
    'a table that is being made',
    { DescribeTable: { Table: { TableStatus: 'CREATING' } } },
    ['the table R-1 is CREATING', 'the table A-1 is CREATING'],
  ],
  [
    'a table of others',
    { DescribeTable: { Table: { TableStatus: 'ACTIVE', KeySchema: [{ AttributeName: 'id' }] } } },
    ['the table R-1 is not an Intent Gate table', 'the table A-1 is not an Intent Gate table'],
  ],
  [
    'a table without time to live',
    { DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } } },
    ['the table R-1 has no time to live', 'the table A-1 has no time to live'],
  ],
  [
    'a table without recovery',
    { DescribeContinuousBackups: {} },
    ['the table R-1 has no point-in-time recovery', 'the table A-1 has no point-in-time recovery'],
  ],
  ['a pool without the group', { GetGroup: undefined }, ['the user pool eu-west-1_Abc has no group named admins']],
  [
    'a key that is scheduled for deletion',
    { DescribeKey: { KeyMetadata: { ...complete().DescribeKey.KeyMetadata, KeyState: 'PendingDeletion' } } },
    ['the key "first" is scheduled for deletion'],
  ],
  [
    'a key that is disabled',
    { DescribeKey: { KeyMetadata: { ...complete().DescribeKey.KeyMetadata, KeyState: 'Disabled' } } },
    ['the key "first" is Disabled'],
  ],
  [
    'a key of another kind',
    { DescribeKey: { KeyMetadata: { ...complete().DescribeKey.KeyMetadata, KeySpec: 'RSA_2048' } } },
    ['the key "first" is not a P-256 signing key'],
  ],
])('the doctor reports %s', async (_, changes, expected) => {
  for (const [operation, answer] of Object.entries(changes)) {
    if (answer) answers[operation] = answer;
    else delete answers[operation];
  }
  const problems = await examine();
  expect(problems.map(({ detail }) => detail)).toEqual(expected);
  for (const { remedy } of problems) expect(remedy).not.toBe('');
});

test('the signers of a policy are compared in any order', () => {
  const policy = (...signers: string[]) =>
    JSON.stringify({ Statement: [{ Effect: 'Allow', Action: ['kms:Sign'], Principal: { AWS: signers } }] });
  expect(signersOf(policy('b', 'a'))).toBe(signersOf(policy('a', 'b')));
  expect(signersOf(policyOf(role))).toBe(role);
  expect(signersOf('{}')).toBe('');
});
