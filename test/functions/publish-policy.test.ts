import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pack } from '../../functions/core/json/pack.ts';
import { openPolicyText } from '../../functions/core/policy/policy.ts';
import { compilerVersion } from '../../functions/core/policy/published.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openPolicies, openPolicyInForce } from '../../functions/core/registry/policy-in-force.ts';
import { openPublisher } from '../../functions/core/registry/publish-policy.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { createAction as createGet } from '../../functions/get-policy.ts';
import { createAction as createPublish, type Deps } from '../../functions/publish-policy.ts';
import { startExecuting } from '../support/executing.ts';
import { execute, newAgent, requestPat } from '../support/gate.ts';
import { byAdmin, invoke, refusalOf, someAdmin } from '../support/invoke.ts';
import { compiledText, loadPolicyTemplate, openInForce, openPolicy } from '../support/policy.ts';
import { intentOf } from '../support/records.ts';
import { refusals } from '../support/registry.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting(undefined, { namespace: 'geo.example' });
const { table } = gate.database;
const uid = 'geo.example:get-country:v1';
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
const baseUrl = 'https://api.example/test';
const file = loadPolicyTemplate();
const changeLog = openChangeLog(table);

/** The parts of new instances of functions, which have cached nothing. */
const parts = (over: Table = table) => ({
  table: over,
  findPolicy: openInForce(over, file),
  findVersion: openPolicies(over, openPolicyText),
  publisher: openPublisher(openChangeLog(over), compiledText),
});
const publish = (body: unknown, { ifMatch, query, ...changes }: { ifMatch?: string; query?: object } & Partial<Deps> = {}) =>
  invoke(byAdmin(createPublish({ ...parts(), ...changes })), 'PUT /api/policy', {
    ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }),
    ...(query && { query: query as Record<string, string> }),
    body,
  });
const read = async (query: Record<string, string> = {}, over = table) =>
  invoke(createGet({ ...parts(over), findPolicy: openPolicyInForce(over, compiledText, openPolicyText) }), 'GET /api/policy', { query });
const inForce = async () => JSON.parse(String((await read()).headers.ETag));
const publishNext = async (body: unknown, more: Parameters<typeof publish>[1] = {}) => publish(body, { ifMatch: await inForce(), ...more });

const forbidding = (more: object = {}): PolicyTemplate =>
  ({
    ...file,
    prohibition: [...(file.prohibition ?? []), { target: `{base_url}/api/intents/${uid}`, action: 'execute' }],
    ...more,
  }) as never;
let count = 0;
const another = (): PolicyTemplate => ({ ...file, uid: `{base_url}/policies/${++count}` });

const isolate = async () => {
  for (let copy = 0; copy < 8; copy++) await table.delete(keys.policyInForce(copy));
};
beforeEach(isolate);
afterAll(() => gate.stop());

test('a published policy judges the next execution of every instance, and PATs of the earlier one are refused with the changes', async () => {
  const { findPolicy } = parts();
  const call = gate.openExecute({ template: findPolicy });
  const agent = await newAgent();
  const issue = gate.openIssue(file, { findPolicy });
  const pat = (await requestPat(issue, agent, file)).body['proto-pat'];
  expect((await execute(call, pat, uid, { code: 'FR' })).status).toBe(200);
  const { status, body } = await publishNext(forbidding());
  const changes = [`Added: You must not execute the intent ${uid}, whatever else is permitted.`];
  expect([status, body]).toEqual([
    200,
    { digest: await inForce(), version: expect.stringMatching(/^[\w-]{43}$/), seq: expect.any(Number), changes, agents: 1, warnings: [] },
  ]);
  const sent = upstream.seen.length;
  expect(refusalOf(await execute(call, pat, uid, { code: 'FR' }))).toMatchObject({
    status: 403,
    details: { reason: 'policy_changed', changes },
  });
  expect((await requestPat(issue, agent, file)).status).toBe(403);
  const next = (await requestPat(issue, agent, forbidding())).body['proto-pat'];
  expect(refusalOf(await execute(call, next, uid, { code: 'FR' }))).toMatchObject({ status: 403, details: { reason: 'prohibited' } });
  expect(upstream.seen.length).toBe(sent);
  expect(await changeLog.find(body.seq)).toMatchObject({
    actor: someAdmin.actor,
    changes: [{ kind: 'policy', id: 'policy', action: 'publish', digest_before: /^sha-256=/, digest_after: `sha-256=${body.version}` }],
  });
});

test('an execution reads which policy is in force with its other records, at no further request', async () => {
  const policy = another();
  await publishNext(policy);
  const { findPolicy } = parts();
  const call = gate.openExecute({ template: findPolicy });
  const agent = await newAgent();
  const pat = (await requestPat(gate.openIssue(file, { findPolicy }), agent, policy)).body['proto-pat'];
  for (let time = 0; time < 2; time++) expect((await execute(call, pat, uid, { code: 'FR' })).status).toBe(200);
  const { operations } = gate.database;
  operations.length = 0;
  expect((await execute(call, pat, uid, { code: 'FR' })).status).toBe(200);
  expect(operations).toEqual(['BatchGetItem', expect.stringMatching(/^(Put|Update)Item$/)]);
});

test('an earlier version is served by its version, and can be published again', async () => {
  const { body: first } = await publishNext(another());
  const text = JSON.stringify((await read()).body);
  const { body: second } = await publishNext(another());
  const earlier = await read({ version: `sha-256=${first.version}` });
  expect([earlier.status, JSON.stringify(earlier.body)]).toEqual([200, text]);
  expect((await publishNext(earlier.body)).body).toMatchObject({ digest: first.digest, version: first.version });
  expect(await inForce()).toBe(first.digest);
  const ofFile = (await changeLog.find(first.seq))?.changes[0]?.digest_before ?? '';
  expect((await read({ version: ofFile })).body).toEqual(openPolicy(file)(baseUrl).policy);
  expect((await read({ version: second.version, view: 'words' })).body).toMatchObject({ source: 'published' });
  expect(refusalOf(await read({ version: 'x'.repeat(43) }))).toEqual({
    status: 404,
    code: 'NOT_FOUND',
    message: 'No published policy has this version. GET /api/changes?kind=policy lists the versions.',
    details: {},
  });
});

test('of two admins who publish at once, one is refused, and nothing is lost', async () => {
  const ifMatch = await inForce();
  const answers = await Promise.all([another(), another(), another()].map((body) => publish(body, { ifMatch })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(await inForce()).toBe(answers.find(({ status }) => status === 200)?.body.digest);
});

test('a publication whose answer is lost can be sent again', async () => {
  const ifMatch = await inForce();
  const body = another();
  const lossy: Table = { ...table, transact: async (...given) => (await table.transact(...given)) && Promise.reject(new Error('lost')) };
  await publish(body, { ifMatch, publisher: openPublisher(openChangeLog(lossy), compiledText) });
  const again = await publish(body, { ifMatch: await inForce() });
  expect([again.status, again.body.changes]).toEqual([200, []]);
  expect(again.body.seq).toBe((await changeLog.head()).seq);
});

test('a policy that is in force is not published again', async () => {
  const body = another();
  const { body: first } = await publishNext(body);
  expect((await publishNext(body)).body).toMatchObject({ seq: first.seq, changes: [] });
  expect((await changeLog.head()).seq).toBe(first.seq);
});

test.each(['dry_run', 'dryRun', 'dry-run'])('a dry run that is misspelt does not publish: %s', async (name) => {
  const before = await changeLog.head();
  expect((await publishNext(another(), { query: { [name]: name === 'dry_run' ? '' : 'true' } })).status).toBe(400);
  expect(await changeLog.head()).toEqual(before);
});

test('a dry run reports everything, and changes nothing', async () => {
  const { seq } = await changeLog.head();
  const dry = await publishNext({ ...file, permission: [], prohibition: [] }, { query: { dry_run: 'true' } });
  expect([dry.status, dry.body.warnings[0]]).toEqual([200, { path: '/permission', problem: 'is empty, so the policy allows nothing' }]);
  expect(dry.body.changes).toContain('Removed: You may execute every intent, at most 60 times a minute.');
  expect(await changeLog.head()).toMatchObject({ seq });
  expect(await inForce()).toBe(openPolicy(file)(baseUrl).digest);
});

test('warnings name intents that do not exist', async () => {
  const prohibition = [{ target: '{base_url}/api/intents/geo.example:get-contry:v1', action: 'execute' }];
  expect((await publishNext({ ...file, prohibition })).body.warnings).toEqual([
    { path: '', problem: 'names the intent geo.example:get-contry:v1, which does not exist' },
  ]);
});

test('a policy that names the address of the gate itself is published as it would be with {base_url}', async () => {
  const template = another();
  const named = JSON.parse(JSON.stringify(template).replaceAll('{base_url}', baseUrl));
  const { body } = await publishNext(named);
  expect((await publishNext(template)).body).toMatchObject({ version: body.version, changes: [] });
});

describe('nothing is published, and the policy in force stays,', () => {
  const limits = Array.from({ length: 9 }, (_, at) => ({
    target: '{base_url}/api/intents',
    action: 'execute',
    constraint: [{ leftOperand: '{base_url}/v/count', operator: 'lte', rightOperand: at + 1 }],
  }));
  const changed = {
    status: 409,
    code: 'CONFLICT',
    message: 'If-Match is not the digest of the policy in force. Read it with GET /api/policy, and compare it with yours.',
    details: { reason: 'etag_mismatch' },
  };
  test.each<{ name: string; body?: unknown; ifMatch?: string | null; refusal: object }>([
    {
      name: 'without If-Match',
      ifMatch: null,
      refusal: refusals.invalid(['', 'the header If-Match must be the ETag of GET /api/policy, the policy to replace']),
    },
    { name: 'with If-Match: *', ifMatch: '*', refusal: changed },
    { name: 'with the digest of another policy', ifMatch: `"${'A'.repeat(43)}"`, refusal: changed },
    {
      name: 'if {base_url} is misspelt',
      body: { ...file, permission: [{ target: '{baseurl}/api/intents', action: 'execute' }] },
      refusal: { status: 400, code: 'INVALID_PARAMETER', details: { issues: [{ path: '/permission/0/target' }] } },
    },
    {
      name: 'if it has two problems, which are both named',
      body: { ...file, permission: [{ target: '{base_url}/api/intents', action: 'fly' }], prohibition: [{ target: 7, action: 'execute' }] },
      refusal: { status: 400, details: { issues: [{ path: '/prohibition/0/target' }, { path: '/permission/0/action' }] } },
    },
    {
      name: 'if one item cannot count its limits',
      body: { ...file, permission: limits },
      refusal: { status: 400, details: { issues: [{ problem: expect.stringContaining('at most 8 limits and budgets') }] } },
    },
    {
      name: 'if it is not JSON',
      body: '{"uid":',
      refusal: { status: 400, details: { issues: [{ path: '', problem: expect.stringContaining('must be JSON') }] } },
    },
    {
      name: 'if its uid is too long for a PAT',
      body: { ...file, uid: `{base_url}/${'x'.repeat(500)}` },
      refusal: refusals.invalid(['/uid', 'must have at most 500 characters, because every PAT names it']),
    },
    {
      name: 'if its sentences do not fit into an item, without which no PAT is issued',
      body: { ...file, obligation: Array.from({ length: 5_000 }, (_, at) => ({ action: 'sign', target: `{base_url}/${at}` })) },
      refusal: {
        status: 400,
        details: { issues: [{ path: '', problem: expect.stringContaining('or its sentences more than 300 KB') }] },
      },
    },
    { name: 'if it is larger than 256 KB', body: { ...file, uid: `{base_url}/${'x'.repeat(262_144)}` }, refusal: { status: 413 } },
  ])('$name', async ({ body = another(), ifMatch, refusal }) => {
    const before = await changeLog.head();
    const named = ifMatch === null ? {} : { ifMatch: ifMatch ?? (await inForce()) };
    const headers = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {};
    const answer = await invoke(byAdmin(createPublish(parts())), 'PUT /api/policy', {
      headers: { ...headers, ...(named.ifMatch !== undefined && { 'If-Match': named.ifMatch }) },
      body,
    });
    expect(refusalOf(answer)).toMatchObject(refusal);
    expect(await changeLog.head()).toEqual(before);
  });

  test('by an admin of a namespace', async () => {
    const act = byAdmin(createPublish(parts()), { ...someAdmin, namespaces: ['geo.example'] });
    expect((await invoke(act, 'PUT /api/policy', { body: another() })).status).toBe(403);
  });

  test('if policies change by deployment only', async () => {
    const answer = await publishNext(another(), { isFileOnly: true });
    expect([answer.status, answer.headers.Allow]).toEqual([405, 'GET']);
    expect(answer.body.error.message).toBe('The policy of this gate changes by deployment only (setting policySource).');
  });

  test('nor is one in force that was published before', async () => {
    await publishNext(another());
    const findPolicy = openInForce(table, file, { isFileOnly: true });
    const words = await invoke(createGet({ ...parts(), findPolicy }), 'GET /api/policy', { query: { view: 'words' } });
    expect(words.body).toMatchObject({ policy: openPolicy(file)(baseUrl).reference, source: 'file' });
  });
});

test('a large policy with 300 prohibitions is published and judges', async () => {
  const prohibition = Array.from({ length: 300 }, (_, at) => ({
    target: `{base_url}/api/intents/geo.example:${'x'.repeat(100)}-${at}:v1`,
    action: 'execute',
    assignee: `agent-${'y'.repeat(500)}-${at}`,
  }));
  expect((await publishNext({ ...file, prohibition })).status).toBe(200);
  expect((await parts().findPolicy(baseUrl)).rules).toHaveLength(301);
});

describe('the gate fails closed', () => {
  const refused = {
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'The usage policy cannot be read. Nothing was sent. Ask the operators of this gate to publish a policy.',
  };
  test('if the policy in force was compiled by a version that it does not know, as after a rollback: it is read, and replaced as any other', async () => {
    const policy = another();
    const { version } = (await publishNext(policy)).body;
    const packed = await pack(compiledText(policy).replace(`"compiler":${compilerVersion}`, '"compiler":999'));
    await table.put({ ...keys.publishedPolicy(version), packed });
    const { findPolicy } = parts();
    await expect(async () => findPolicy(baseUrl)).rejects.toThrow('cannot be read');
    const uid = policy.uid.replace('{base_url}', baseUrl);
    expect((await read()).body).toMatchObject({ uid });
    expect((await read({ view: 'words' })).body).toMatchObject({ source: 'published' });
    const findText = openPolicyInForce(table, compiledText, openPolicyText);
    expect((await publishNext(policy, { findPolicy: findText })).status).toBe(200);
    expect((await findPolicy(baseUrl)).policy.uid).toBe(uid);
  });

  test('if it is missing, until one is published again whose version If-Match names', async () => {
    const policy = another();
    const { version } = (await publishNext(policy)).body;
    await table.delete(keys.publishedPolicy(version));
    expect((await publish(policy, { ifMatch: `"${'A'.repeat(43)}"` })).status).toBe(503);
    expect((await publish(policy, { ifMatch: `"${version}"` })).status).toBe(200);
    expect((await parts().findPolicy(baseUrl)).policy.uid).toBe(policy.uid.replace('{base_url}', baseUrl));
  });

  test('if the policy in force is missing: the one of the deployment does not take its place', async () => {
    const { body } = await publishNext(another());
    await table.delete(keys.publishedPolicy(body.version));
    expect(refusalOf(await read())).toMatchObject(refused);
  });

  test('if the table cannot be read', async () => {
    const { unavailable } = await import('../../functions/core/runtime/api-error.ts');
    const broken: Table = { ...table, get: () => Promise.reject(unavailable('no table')) };
    expect((await read({}, broken)).status).toBe(503);
  });
});
