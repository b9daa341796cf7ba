import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { examineAdopted, findLeftKeys, signersOf } from '../../../bin/doctor/adopted.ts';
import { close, listen } from '../../../bin/local/http.ts';
import { parseSettings } from '../../../lib/settings.ts';

/** AWS responses by operation; a stand-in, because no local table supports time to live, recovery or key policies. */
let answers: Record<string, object>;
const server = createServer(async (request, response) => {
  await text(request);
  const target = request.headers['x-amz-target'];
  const answer =
    answers[target ? (String(target).split('.').at(-1) ?? '') : `${request.method} ${request.url?.split('?')[0]?.replace(/\/$/, '')}`];
  response.writeHead(answer ? 200 : target ? 400 : 404, { 'Content-Type': 'application/x-amz-json-1.1' });
  if (request.method === 'HEAD') return void response.end();
  response.end(JSON.stringify(answer ?? { __type: 'ResourceNotFoundException', message: 'none' }));
});
process.env.AWS_ENDPOINT_URL = `http://127.0.0.1:${await listen(server)}`;
afterAll(() => {
  delete process.env.AWS_ENDPOINT_URL;
  return close(server);
});

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
const arn = 'arn:aws:kms:eu-west-1:123456789012:key/mrk-1';
const adopt = { registryTable: 'R-1', activityTable: 'A-1', userPoolId: 'eu-west-1_Abc', signingKeys: { first: arn } };
const policyOf = (signer: string) =>
  JSON.stringify({
    Statement: [
      { Effect: 'Allow', Action: ['kms:DescribeKey'], Principal: { AWS: 'arn:aws:iam::123456789012:root' }, Resource: '*' },
      { Effect: 'Allow', Action: 'kms:Sign', Principal: { AWS: signer }, Resource: '*' },
    ],
  });
const role = 'arn:aws:iam::123456789012:role/issue-pat';

const complete = () => ({
  DescribeTable: {
    Table: { TableStatus: 'ACTIVE', KeySchema: [{ AttributeName: 'pk' }, { AttributeName: 'sk' }], DeletionProtectionEnabled: true },
  },
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires_at' } },
  DescribeContinuousBackups: {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED' },
    },
  },
  DescribeUserPool: { UserPool: {} },
  GetGroup: { Group: {} },
  DescribeKey: { KeyMetadata: { KeyId: 'mrk-1', KeyState: 'Enabled', KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' } },
  GetKeyPolicy: { Policy: policyOf(role) },
});

beforeEach(() => {
  answers = complete();
});

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

describe('an adopted log of receipts', () => {
  const [receiptKey, logKey] = ['arn:aws:kms:eu-west-1:123456789012:key/1', 'arn:aws:kms:eu-west-1:123456789012:key/2'];
  const ofLog = { receiptKey, logKey, receiptBucket: 'log-1' };
  const policies = { ReceiptKeyPolicy: policyOf(role), LogKeyPolicy: policyOf(`${role}-log`) };
  const examineLog = (outputs?: Record<string, string>) =>
    examineAdopted(ofLog, outputs, { maxAttempts: 1, region: 'eu-west-1', credentials });
  const edwards = { ...complete().DescribeKey.KeyMetadata, KeySpec: 'ECC_NIST_EDWARDS25519' };

  beforeEach(() => {
    answers.DescribeKey = { KeyMetadata: edwards };
    answers['HEAD /log-1'] = {};
  });

  test('is complete before the deployment', async () => {
    expect(await examineLog()).toEqual([]);
  });

  test('needs its own policy on each key', async () => {
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

  test.each<[string, string, object | undefined, string[]]>([
    ['a bucket that does not exist', 'HEAD /log-1', undefined, ['bucket not found: log-1']],
    ['keys that do not exist', 'DescribeKey', undefined, [`key not found: ${receiptKey}`, `key not found: ${logKey}`]],
    [
      'keys that sign PATs',
      'DescribeKey',
      complete().DescribeKey,
      ['the receipt key is not an Ed25519 signing key', 'the log key is not an Ed25519 signing key'],
    ],
    [
      'keys that are disabled',
      'DescribeKey',
      { KeyMetadata: { ...edwards, KeyState: 'Disabled' } },
      ['the receipt key is Disabled', 'the log key is Disabled'],
    ],
  ])('may not have %s', async (_, operation, answer, expected) => {
    if (answer) answers[operation] = answer;
    else delete answers[operation];
    expect((await examineLog()).map(({ detail }) => detail)).toEqual(expected);
  });
});

describe('keys that an earlier stack left under an alias', () => {
  const found = (settings: Record<string, unknown>) =>
    findLeftKeys(parseSettings(settings), { maxAttempts: 1, region: 'eu-west-1', credentials });
  const receiptLog = { receiptKey: arn, logKey: `${arn}2`, receiptBucket: 'log-1' };

  test.each<[string, Record<string, unknown>, string[]]>([
    ['a signing key', { receipts: 'off' }, ['alias/IntentGate/first adopt.signingKeys.first']],
    ['the signing key of another stage', { receipts: 'off', stage: 'test' }, ['alias/IntentGate-test/first adopt.signingKeys.first']],
    [
      'each signing key',
      { receipts: 'off', signingKeys: '2027,first' },
      ['alias/IntentGate/2027 adopt.signingKeys.2027', 'alias/IntentGate/first adopt.signingKeys.first'],
    ],
    [
      'all but an adopted one',
      { receipts: 'off', signingKeys: '2027,first', adopt: { signingKeys: { first: arn } } },
      ['alias/IntentGate/2027 adopt.signingKeys.2027'],
    ],
    [
      'those of the log of receipts',
      { receipts: 'keyed', adopt: { signingKeys: { first: arn } } },
      ['alias/IntentGate/receipts adopt.receiptKey', 'alias/IntentGate/log adopt.logKey'],
    ],
    ['none if all are adopted', { receipts: 'all', adopt: { signingKeys: { first: arn }, ...receiptLog } }, []],
  ])('are named with their ARN: %s', async (_, settings, expected) => {
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

  test('are not found where there are none', async () => {
    delete answers.DescribeKey;
    expect(await found({ receipts: 'keyed' })).toEqual([]);
  });
});

test.each<[string, Record<string, object | undefined>, string[]]>([
  [
    'nothing at all',
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
])('%s is told', async (_, changes, expected) => {
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
