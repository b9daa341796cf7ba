import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { examineAdopted, signersOf } from '../../../bin/doctor/adopted.ts';
import { close, listen } from '../../../bin/local/http.ts';

/** AWS responses by operation; a stand-in, because no local table supports time to live, recovery or key policies. */
let answers: Record<string, object>;
const server = createServer(async (request, response) => {
  await json(request);
  const answer = answers[String(request.headers['x-amz-target']).split('.').at(-1) ?? ''];
  response.writeHead(answer ? 200 : 400, { 'Content-Type': 'application/x-amz-json-1.1' });
  response.end(JSON.stringify(answer ?? { __type: 'ResourceNotFoundException', message: 'none' }));
});
process.env.AWS_ENDPOINT_URL = `http://127.0.0.1:${await listen(server)}`;
afterAll(() => {
  delete process.env.AWS_ENDPOINT_URL;
  return close(server);
});

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

const examine = (wantedPolicy?: string) => examineAdopted(adopt, wantedPolicy, { maxAttempts: 1 });

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
