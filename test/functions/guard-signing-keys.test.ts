import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { close, listen } from '../../bin/local/http.ts';
import { findObjection } from '../../functions/core/deployment/change-objection.ts';
import { handler } from '../../functions/guard-signing-keys.ts';

const onPurpose = 'If every PAT is to become invalid immediately, as after a compromise, set voidPats for this deployment.';

/** A change of the keys and of the adopted resources. */
const update = (standing: string[], wanted: string[], voidPats = false, then?: object, now?: object) =>
  ({
    RequestType: 'Update',
    ResourceProperties: { ServiceToken: 'arn', SigningKeys: wanted, VoidPats: String(voidPats), ...(now && { Adopt: now }) },
    OldResourceProperties: { SigningKeys: standing, VoidPats: 'false', ...(then && { Adopt: then }) },
  }) as unknown as CloudFormationCustomResourceEvent;

const adopting = (then: object | undefined, now: object | undefined, voidPats = false) => update(['first'], ['first'], voidPats, then, now);

describe('adopted resources', () => {
  const data = { registryTable: 'R-1', activityTable: 'A-1', userPoolId: 'eu-west-1_1' };
  const key = { signingKeys: { first: 'arn-1' } };
  const exchanged = `adopt.signingKeys: "first" would become a different key. Leave it unchanged, and give the other key its own name. ${onPurpose}`;

  test.each<[object | undefined, object | undefined]>([
    [
      { ...data, ...key },
      { ...data, ...key },
    ],
    [undefined, undefined],
  ])('adopted resources %j may become %j', (then, now) => {
    expect(findObjection(adopting(then, now))).toBeUndefined();
  });

  test.each<[object | undefined, object | undefined, string]>([
    [data, undefined, 'adopt.registryTable: this stack has adopted R-1, and the change would abandon it.'],
    [
      data,
      { ...data, userPoolId: 'eu-west-1_2' },
      'adopt.userPoolId: this stack has adopted eu-west-1_1, and the change would abandon it.',
    ],
    [undefined, data, 'adopt.registryTable: this stack has its own. Only a new stack can adopt what another stack left: delete this one,'],
    [key, undefined, exchanged],
    [undefined, key, exchanged],
    [key, { signingKeys: { first: 'arn-2' } }, exchanged],
  ])('adopted resources %j may not become %j', (then, now, objection) => {
    expect(findObjection(adopting(then, now))).toContain(objection);
  });

  test.each([
    [['2027'], ['2027', 'first'], 'a key that was removed too early comes back by its ARN'],
    [['2027', 'first'], ['2027'], 'and is removed again'],
    [['2027', 'first'], ['first', '2027'], 'or signs again'],
  ])('adopted resources from %j to %j go ahead: %s', (standing, wanted) => {
    const adopted = (names: string[]) => (names.includes('first') ? { signingKeys: { first: 'arn-1' } } : undefined);
    expect(findObjection(update(standing, wanted, false, adopted(standing), adopted(wanted)))).toBeUndefined();
  });

  test('an adopted key may be exchanged for another with voidPats, but never be given up', () => {
    expect(findObjection(adopting(undefined, key, true))).toBeUndefined();
    expect(findObjection(adopting(data, undefined, true))).toContain('the change would abandon it');
  });
});

describe('a change of the signing keys', () => {
  test.each([
    [['first'], ['first', '2027']],
    [
      ['first', '2027'],
      ['2027', 'first'],
    ],
    [['2027', 'first'], ['2027']],
  ])('a change of the signing keys from %j to %j goes ahead', (standing, wanted) => {
    expect(findObjection(update(standing, wanted))).toBeUndefined();
  });

  test.each([
    [['first'], ['2027'], 'signingKeys: ["2027"] leaves out "first", which signs PATs now. Deploy ["first","2027"] first.'],
    [['first'], ['2026', '2027'], 'signingKeys: ["2026","2027"] leaves out "first", which signs PATs now. Deploy ["first","2026"] first.'],
    [['first', '2027'], ['2027'], 'signingKeys: ["2027"] leaves out "first", which signs PATs now. Deploy ["2027","first"] first.'],
    [
      ['first'],
      ['2027', 'first'],
      'signingKeys: "2027" would sign PATs before it is published. Deploy ["first","2027"] first, then move it to the front.',
    ],
  ])('a change of the signing keys from %j to %j is refused, with the step to take first', (standing, wanted, objection) => {
    expect(findObjection(update(standing, wanted))).toBe(`${objection} ${onPurpose}`);
    expect(findObjection(update(standing, wanted, true))).toBeUndefined();
  });
});

/** The answer that CloudFormation receives. */
async function answerTo(event: object): Promise<Record<string, unknown>> {
  const received: [method: string | undefined, mediaType: string | undefined, answer: Record<string, unknown>][] = [];
  const server = createServer(async (request, response) => {
    received.push([request.method, request.headers['content-type'], JSON.parse(await text(request))]);
    response.end();
  });
  try {
    const ResponseURL = `http://127.0.0.1:${await listen(server)}/answer?signed=1`;
    await handler({ ...event, ...ids, ResponseURL } as CloudFormationCustomResourceEvent);
  } finally {
    await close(server);
  }
  expect(received).toEqual([['PUT', undefined, expect.anything()]]);
  return received[0]?.[2] ?? {};
}

const ids = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'SigningKeyGuard' };
const anyId = expect.stringMatching(/^signing-keys-[0-9a-f]{16}(-from-[0-9a-f]{16})?$/);

describe('the creation of a stack', () => {
  let account: Server;
  let answers: Record<string, object | undefined>;
  beforeAll(async () => {
    account = createServer((request, response) => {
      const answer = answers[request.url ?? ''];
      response.writeHead(answer ? 200 : 403).end(JSON.stringify(answer ?? {}));
    });
    const endpoint = `http://127.0.0.1:${await listen(account)}`;
    Object.assign(process.env, { AWS_ENDPOINT_URL: endpoint, AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' });
  });
  afterAll(() => {
    for (const name of ['AWS_ENDPOINT_URL', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'RESERVED_CONCURRENCY'])
      delete process.env[name];
    return close(account);
  });

  const creation = (reserved: number, managesRole: boolean) => ({
    reserved,
    RequestType: 'Create',
    ResourceProperties: {
      SigningKeys: ['first'],
      VoidPats: 'false',
      ManageApiLogRole: String(managesRole),
    },
  });
  const limits = (free: number, role?: string) => ({
    '/2016-08-19/account-settings': { AccountLimit: { UnreservedConcurrentExecutions: free } },
    '/account': role ? { cloudwatchRoleArn: role } : {},
  });
  const tooFew = expect.stringMatching(
    /^reservedConcurrency reserves 400 .* the account has only 10 unreserved: lower reservedConcurrency /,
  );
  const noRole = expect.stringContaining('no role with which API Gateway writes logs in this region: set "manageApiLogRole": true');

  test.each([
    [creation(0, false), limits(10, 'arn'), { Status: 'SUCCESS' }],
    [creation(0, true), limits(10), { Status: 'SUCCESS' }],
    [creation(400, false), limits(500, 'arn'), { Status: 'SUCCESS' }],
    [creation(400, false), limits(10, 'arn'), { Status: 'FAILED', Reason: tooFew }],
    [creation(0, false), limits(10), { Status: 'FAILED', Reason: noRole }],
    [creation(400, false), limits(10), { Status: 'FAILED', Reason: expect.stringMatching(/^reservedConcurrency .*manageApiLogRole/) }],
    // a function that is not allowed to read the account does not object
    [creation(400, false), {}, { Status: 'SUCCESS' }],
    [
      { ...creation(400, false), RequestType: 'Delete', PhysicalResourceId: 'signing-keys-0123456789abcdef' },
      limits(10),
      { Status: 'SUCCESS' },
    ],
  ])('the guard answers %j in an account with %j', async ({ reserved, ...event }, state, told) => {
    answers = state;
    process.env.RESERVED_CONCURRENCY = String(reserved);
    expect(await answerTo(event)).toEqual({ ...told, ...ids, PhysicalResourceId: anyId });
  });
});

describe('rollbacks', () => {
  type Keys = { names: string[]; voidPats?: true; adopt?: Record<string, string> };
  const propertiesOf = ({ names, voidPats, adopt }: Keys) => ({
    SigningKeys: names,
    VoidPats: String(voidPats ?? false),
    ...(adopt && { Adopt: { signingKeys: adopt } }),
  });
  const change = (then: Keys, now: Keys, PhysicalResourceId: unknown) => ({
    RequestType: 'Update',
    OldResourceProperties: propertiesOf(then),
    ResourceProperties: propertiesOf(now),
    PhysicalResourceId,
  });

  const states: Keys[] = [
    { names: ['a'] },
    { names: ['b'] },
    { names: ['a', 'b'] },
    { names: ['b', 'a'] },
    { names: ['a'], adopt: { a: 'arn-1' } },
    { names: ['a', 'b'], adopt: { a: 'arn-2' } },
  ];
  const transitions = states.flatMap((then) =>
    states.flatMap((now) => [now, { ...now, voidPats: true as const }].map((to) => [then, to] as const)),
  );

  test.each(transitions)('a deployment from %j to %j that goes ahead can be rolled back', async (then, now) => {
    const { PhysicalResourceId: before } = await answerTo({ RequestType: 'Create', ResourceProperties: propertiesOf(then) });
    const forward = await answerTo(change(then, now, before));
    if (now.voidPats) expect(forward.Status).toBe('SUCCESS');
    // After a refusal, CloudFormation deletes the new resource and keeps the old one.
    const standing = forward.Status === 'SUCCESS' ? forward.PhysicalResourceId : before;
    if (forward.Status !== 'SUCCESS') expect(forward.PhysicalResourceId).not.toBe(before);
    expect(await answerTo(change(now, then, standing))).toMatchObject({ Status: 'SUCCESS' });
  });

  test('a deployment after voidPats must not lose the new key by mistake', async () => {
    const [first, voided, other]: Keys[] = [{ names: ['a'] }, { names: ['b'], voidPats: true }, { names: ['c'] }];
    const created = await answerTo({ RequestType: 'Create', ResourceProperties: propertiesOf(first as Keys) });
    const { PhysicalResourceId } = await answerTo(change(first as Keys, voided as Keys, created.PhysicalResourceId));
    const refused = { Status: 'FAILED', Reason: expect.stringContaining('leaves out "b", which signs PATs now') };
    expect(await answerTo(change(voided as Keys, other as Keys, PhysicalResourceId))).toMatchObject(refused);
    const settled = await answerTo(change(voided as Keys, { names: ['b'] }, PhysicalResourceId));
    expect(await answerTo(change({ names: ['b'] }, first as Keys, settled.PhysicalResourceId))).toMatchObject(refused);
  });
});
