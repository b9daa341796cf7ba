import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  type Agreement,
  type AgreementStore,
  type ConnectOptions,
  connect,
  type IntentGate,
  IntentGateError,
  issuesOf,
  type OnPolicy,
  openMemoryKeyStore,
  PolicyDeclined,
  RateLimited,
  Refusal,
  UnexpectedAnswer,
  Unreachable,
  upstreamOf,
} from '../../client/connect.ts';
import { baseUrl, type Gate, startGate } from '../support/gate.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { revokeAgent } from '../support/stop-agent.ts';
import { startUpstream } from '../support/upstream.ts';
import { policyWithRate, type Service, serviceOver } from './service.ts';

const uid = 'test.example:get-country:v1';
const otherUid = 'test.example:get-capital:v1';
const [policyPath, issuePath, executePath] = ['/api/policy', '/api/pat/issue', '/api/intents/execute'];

let gate: Gate;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let service: Service;
let service_id: string;

beforeAll(async () => {
  gate = await startGate();
  upstream = await startUpstream((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'));
  ({ service_id } = await gate.services.create(serviceNamed('World')));
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/`, method: 'POST' as const, content_type: 'application/json' };
  for (const one of [uid, otherUid]) await gate.intents.create(service_id, intentOf(one, { endpoint }));
});
afterAll(async () => {
  await upstream.stop();
  await gate.stop();
});
beforeEach(() => {
  service = serviceOver(gate);
  upstream.seen.length = 0;
});

const allow = () => jest.fn<OnPolicy>(() => true);
const open = (options: Partial<ConnectOptions> = {}): Promise<IntentGate> =>
  connect(`${baseUrl}/`, { agentId: `agent-${randomUUID()}`, onPolicy: allow(), fetch: service.fetch, ...options });
const run = (client: IntentGate, options = {}) => client.execute(uid, { code: 'FR' }, options);

const words = ['You may execute every intent, at most 60 times a minute.', "Sign this policy with your agent's key before the first call."];

test('the client executes an intent: it reads the policy, asks, signs it, gets a PAT and calls', async () => {
  const onPolicy = allow();
  const client = await open({ onPolicy });
  expect(service.requests).toEqual([]);
  expect(await run(client)).toEqual({ name: 'France' });
  expect(await client.execute({ intent_uid: uid }, { code: 'FR' })).toEqual({ name: 'France' });
  expect(service.requests.map(({ what }) => what)).toEqual([
    `GET ${policyPath}`,
    `GET ${policyPath}?view=words`,
    `POST ${issuePath}`,
    `POST ${executePath}`,
    `POST ${executePath}`,
  ]);
  expect(onPolicy.mock.calls).toEqual([[expect.objectContaining({ uid: `${baseUrl}/api/policy` }), words, undefined]]);
  const keys = service.requests.slice(3).map(({ headers }) => headers.get('idempotency-key'));
  expect(new Set(keys).size).toBe(2);
});

test('numbers keep every digit: integers beyond double precision are bigints, unless another parser is given', async () => {
  const answer = () => new Response('{"id":9007199254740993,"price":1.50}', { headers: { 'Content-Type': 'application/json' } });
  service.faults[executePath] = [answer(), answer()];
  expect(await run(await open())).toEqual({ id: 9007199254740993n, price: 1.5 });
  expect(await run(await open({ parse: (text) => ({ text }) }))).toEqual({ text: '{"id":9007199254740993,"price":1.50}' });
  const state = '{"status":"done","outcome":{"status":200,"body":{"id":9007199254740993}}}';
  service.faults['/api/executions/01'] = [new Response(state, { headers: { 'Content-Type': 'application/json' } })];
  expect(await (await open()).readExecution(`${baseUrl}/api/executions/01`)).toMatchObject({
    outcome: { body: { id: 9007199254740993n } },
  });
  await (await open()).execute(uid, { code: 'FR', id: 9007199254740993n }).catch(() => undefined);
  expect(service.requests.at(-1)?.body).toContain('"id":9007199254740993}');
});

test('the client reports where an answer does not match the description of the intent', async () => {
  const answer = (issues?: string) => new Response('{"name":1}', { headers: issues === undefined ? {} : { 'Answer-Issues': issues } });
  service.faults[executePath] = [answer('/name, /gr%C3%B6%C3%9Fe%2C%20%25, ...'), answer('/100%'), answer()];
  const client = await open();
  const [wrong, odd, right] = [await run(client), await run(client), await run(client)];
  expect([wrong, odd, right]).toEqual(Array.from({ length: 3 }, () => ({ name: 1 })));
  expect([issuesOf(wrong), issuesOf(odd), issuesOf(right), issuesOf({ ...wrong })]).toEqual([
    ['/name', '/größe, %', '...'],
    ['/100%'],
    [],
    [],
  ]);
});

test('an execution returns the status and header fields of the service', async () => {
  const answer = (headers: Record<string, string>) => new Response('{}', { headers });
  const head = { 'Upstream-Status': '201', 'Upstream-Location': '/a', 'upstream-x-total': '4', 'Upstream-Cut': 'Link' };
  service.faults[executePath] = [answer(head), answer({ 'Upstream-Status': '200' }), answer({})];
  const client = await open();
  const heads = [await run(client), await run(client), await run(client)].map((one) => {
    const upstream = upstreamOf(one);
    return upstream && [upstream.status, Object.fromEntries(upstream.headers)];
  });
  expect(heads).toEqual([[201, { cut: 'Link', location: '/a', 'x-total': '4' }], [200, {}], undefined]);
});

test('the client asks once and gets one PAT for any number of concurrent calls', async () => {
  const onPolicy = jest.fn<OnPolicy>(async () => true);
  const client = await open({ onPolicy });
  await Promise.all(Array.from({ length: 20 }, () => run(client)));
  expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`), upstream.seen.length]).toEqual([1, 1, 20]);
});

describe('the policy', () => {
  test.each<[string, unknown]>([
    ['false', false],
    ['a text', 'no'],
  ])('the policy is not signed if onPolicy returns %s', async (_, result) => {
    const client = await open({ onPolicy: (() => result) as unknown as OnPolicy });
    const error = await run(client).catch((caught) => caught);
    expect(error).toBeInstanceOf(PolicyDeclined);
    expect(error).toMatchObject({
      code: 'POLICY_DECLINED',
      message: 'The usage policy was not accepted, so nothing was signed and no intent can be executed.',
      inWords: words,
    });
    expect(service.requests.map(({ what }) => what)).toEqual([`GET ${policyPath}`, `GET ${policyPath}?view=words`]);
  });

  test('the policy is signed as fetched, even if onPolicy changes its copy', async () => {
    const client = await open({
      onPolicy: (policy) => {
        policy.permission = [];
        return true;
      },
    });
    expect(await run(client)).toEqual({ name: 'France' });
  });

  test('the policy is shown again, with the differences, when it has changed', async () => {
    const onPolicy = allow();
    const client = await open({ onPolicy });
    await run(client);
    service.setPolicy(policyWithRate(30));
    expect(await run(client)).toEqual({ name: 'France' });
    expect(onPolicy.mock.calls[1]?.[2]).toEqual([
      'Removed: You may execute every intent, at most 60 times a minute.',
      'Added: You may execute every intent, at most 30 times a minute.',
    ]);
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`), upstream.seen.length]).toEqual([2, 2, 2]);
  });

  test('the policy may change while it is being accepted', async () => {
    const onPolicy = jest.fn<OnPolicy>().mockImplementationOnce(() => {
      service.setPolicy(policyWithRate(30));
      return true;
    });
    onPolicy.mockReturnValue(true);
    const client = await open({ onPolicy });
    expect(await run(client)).toEqual({ name: 'France' });
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([2, 2]);
  });
});

describe('the sentences', () => {
  const ofAnother = (body: Record<string, unknown>) => ({ ...body, policy: `${baseUrl}/api/policy#sha-256=another` });

  test('the sentences that onPolicy gets belong to the policy that is signed, or are read again', async () => {
    let reads = 0;
    service.rewrite = (_, body) =>
      body.sentences && ++reads === 1 ? { ...ofAnother(body), sentences: ['You may do as you like.'] } : body;
    const onPolicy = allow();
    expect(await run(await open({ onPolicy }))).toEqual({ name: 'France' });
    expect(onPolicy.mock.calls.map(([, inWords]) => inWords)).toEqual([words]);
    expect(service.count(`GET ${policyPath}`)).toBe(2);
  });

  test('the sentences of another policy are never shown, and nothing is signed', async () => {
    service.rewrite = (_, body) => (body.sentences ? ofAnother(body) : body);
    const onPolicy = allow();
    await expect(run(await open({ onPolicy }))).rejects.toMatchObject({
      name: 'IntentGateError',
      code: 'UNEXPECTED_ANSWER',
      message:
        'The sentences that the gate returns do not describe the policy that it serves, so nothing was signed. Try again; if the problem persists, tell its operators.',
    });
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([0, 0]);
  });

  test('the policy itself is shown if the gate has no sentences', async () => {
    service.rewrite = (_, body) => (body.sentences ? { policy: 'x' } : body);
    const onPolicy = allow();
    await run(await open({ onPolicy }));
    const [policy, inWords = []] = onPolicy.mock.calls[0] ?? [];
    expect(JSON.parse(inWords.join('\n'))).toEqual(policy);
  });
});

describe('a stored agreement', () => {
  function openStore(): { store: AgreementStore; kept: Map<string, Agreement> } {
    const kept = new Map<string, Agreement>();
    return { kept, store: { load: async (url) => kept.get(url), save: async (url, agreement) => void kept.set(url, agreement) } };
  }

  test('a stored agreement is used by the next run: its PAT, or its consent if the PAT is refused', async () => {
    const { store: agreementStore, kept } = openStore();
    const agentId = `agent-${randomUUID()}`;
    const keyStore = openMemoryKeyStore();
    const onPolicy = allow();
    const next = () => open({ agentId, keyStore, agreementStore, onPolicy });
    await run(await next());
    await run(await next());
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([1, 1]);
    await revokeAgent(gate.database.table, agentId);
    await run(await next());
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([1, 2]);
    service.setPolicy(policyWithRate(30));
    await run(await next());
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([2, 3]);
    expect([...kept]).toEqual([[baseUrl, { digest: expect.stringMatching(/^[\w-]{43}$/), pat: expect.objectContaining({ agentId }) }]]);
  });

  test('a stored agreement has no PAT for another agent', async () => {
    const { store: agreementStore } = openStore();
    await run(await open({ agreementStore }));
    await run(await open({ agreementStore }));
    expect(service.count(`POST ${issuePath}`)).toBe(2);
  });
});

test.each<[string, (policy: Record<string, unknown>) => object]>([
  ['uid', () => ({ uid: 'https://victim.example/api/policy' })],
  ['uid, which only begins like it', () => ({ uid: `${baseUrl}.evil.example/api/policy` })],
  [
    'permission',
    ({ permission }) => ({
      permission: [...(permission as object[]), { target: 'https://victim.example/api/intents', action: 'execute' }],
    }),
  ],
])('a policy with the %s of another gate is not signed, and nobody is asked', async (_, change) => {
  service.rewrite = (path, body) => {
    if (path !== policyPath) return body;
    // no sentences, so that the policy itself would be shown
    return 'uid' in body ? { ...body, ...change(body) } : {};
  };
  const onPolicy = allow();
  await expect(run(await open({ onPolicy }))).rejects.toMatchObject({ code: 'FOREIGN_POLICY' });
  expect(onPolicy).not.toHaveBeenCalled();
  expect(service.count(`POST ${issuePath}`)).toBe(0);
});

describe('the PAT', () => {
  test('the PAT is renewed before it expires, without asking about the same policy again', async () => {
    service.rewrite = (path, body) => (path === issuePath ? { ...body, expires_at: new Date(0).toISOString() } : body);
    const onPolicy = allow();
    const client = await open({ onPolicy });
    await run(client);
    await run(client);
    expect([onPolicy.mock.calls.length, service.count(`POST ${issuePath}`)]).toEqual([1, 2]);
  });

  test('the PAT is replaced once for all callers when it is refused', async () => {
    const agentId = `agent-${randomUUID()}`;
    const client = await open({ agentId });
    await run(client);
    await revokeAgent(gate.database.table, agentId);
    expect(await Promise.all([run(client), run(client), run(client)])).toEqual(Array.from({ length: 3 }, () => ({ name: 'France' })));
    expect(service.count(`POST ${issuePath}`)).toBe(2);
  });

  test('the PAT is not requested endlessly', async () => {
    service.rewrite = (path, body) => (path === issuePath ? { ...body, 'proto-pat': 'not.a.pat' } : body);
    await expect(run(await open())).rejects.toMatchObject({ name: 'Refusal', code: 'UNAUTHORIZED', status: 401 });
    expect(service.count(`POST ${issuePath}`)).toBe(3);
  });
});

describe('after a network failure', () => {
  test.each(['lost before', 'lost after'] as const)('an execution that is %s is sent again under its key, and made once', async (fault) => {
    const client = await open();
    service.faults[executePath] = [fault];
    expect(await run(client)).toEqual({ name: 'France' });
    const sent = service.requests.filter(({ what }) => what === `POST ${executePath}`);
    expect(sent.map(({ headers }) => headers.get('idempotency-key'))).toEqual([
      sent[0]?.headers.get('idempotency-key'),
      expect.any(String),
    ]);
    expect(sent[0]?.headers.get('idempotency-key')).toBe(sent[1]?.headers.get('idempotency-key'));
    expect(upstream.seen).toHaveLength(1);
  });

  test('a PAT request whose answer is lost is signed anew', async () => {
    service.faults[issuePath] = ['lost after'];
    expect(await run(await open())).toEqual({ name: 'France' });
    expect(service.count(`POST ${issuePath}`)).toBe(2);
  });

  test('an unavailable gate is called again after Retry-After', async () => {
    const away = Response.json(
      { error: { code: 'SERVICE_UNAVAILABLE', message: 'Away.', details: {} } },
      { status: 503, headers: { 'Retry-After': '0' } },
    );
    service.faults[executePath] = [away];
    expect(await run(await open())).toEqual({ name: 'France' });
  });

  test('a paused service is not called again, and the message says so', async () => {
    const setPaused = (paused: boolean) => gate.services.replace(service_id, { ...serviceNamed('World'), paused }, () => true);
    const client = await open();
    await setPaused(true);
    try {
      const error = await run(client).catch((caught) => caught);
      expect(error).toBeInstanceOf(Refusal);
      expect(error).toMatchObject({
        status: 503,
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringMatching(/^An admin has paused this service\. /),
        details: { reason: 'paused' },
      });
      expect(service.count(`POST ${executePath}`)).toBe(1);
    } finally {
      await setPaused(false);
    }
    expect(await run(client)).toEqual({ name: 'France' });
  });

  test('the final error says that the call may have been made, and names the key under which it can be repeated', async () => {
    service.faults[executePath] = ['lost after', 'lost before'];
    const client = await open({ maxAttempts: 2 });
    const error = await run(client).catch((caught) => caught);
    expect(error).toBeInstanceOf(Unreachable);
    expect(error).toMatchObject({
      code: 'UNREACHABLE',
      message: `Nothing answers at ${baseUrl}. The call may have been made. Execute the intent again with the same idempotency key, which makes no second call.`,
      cause: expect.any(TypeError),
    });
    expect(service.count(`POST ${executePath}`)).toBe(2);
    expect(await run(client, { idempotencyKey: error.idempotencyKey })).toEqual({ name: 'France' });
    expect(upstream.seen).toHaveLength(1);
  });

  test('the error of a call that was awaited names its key, whether its state could not be read or it was refused', async () => {
    const pending = (id: string) => Response.json({ status: 'working', execution: `${baseUrl}/api/executions/${id}` }, { status: 202 });
    const error = { code: 'INTENT_EXECUTION_FAILED', message: 'It broke.', details: {} };
    const refused = { status: 'done', execution: 'b', outcome: { status: 502, body: { error } } };
    service.faults['/api/executions/a'] = ['lost before', 'lost before'];
    service.faults['/api/executions/b'] = [Response.json(refused)];
    const failures = ['a', 'b'].map(async (id) => {
      const client = await open({ maxAttempts: 2 });
      await client.obtainPat();
      service.faults[executePath] = [pending(id)];
      return run(client, { idempotencyKey: `key-${id}`, wait: true }).catch((caught) => caught);
    });
    expect(await Promise.all(failures)).toMatchObject([
      { code: 'UNREACHABLE', effect: 'call', idempotencyKey: 'key-a' },
      { code: 'INTENT_EXECUTION_FAILED', status: 502, idempotencyKey: 'key-b' },
    ]);
  });

  test('the refusal of a caller after a lost answer says that the call may have been made', async () => {
    const client = await open();
    const blocked = { code: 'FORBIDDEN', message: 'This agent is blocked.', details: { reason: 'agent_blocked' } };
    service.faults[executePath] = ['lost after', Response.json({ error: blocked }, { status: 403 })];
    expect(await run(client).catch((caught) => caught)).toMatchObject({
      status: 403,
      mayBeDone: true,
      message: 'This agent is blocked. An earlier attempt may have made the call.',
    });
  });

  test('the error of a new PAT names the key of a call whose answer was lost before', async () => {
    const client = await open({ maxAttempts: 2 });
    await client.obtainPat();
    const refused = { code: 'UNAUTHORIZED', message: 'The PAT has expired.', details: {} };
    const refusing = () => Response.json({ error: refused }, { status: 401 });
    service.faults[executePath] = ['lost after', 'lost after', refusing(), refusing()];
    // whether the two share one request or not
    service.faults[issuePath] = ['lost before', 'lost before', 'lost before', 'lost before'];
    const failures = ['key-a', 'key-b'].map((idempotencyKey) => run(client, { idempotencyKey }).catch((caught) => caught));
    expect(await Promise.all(failures)).toMatchObject(
      ['key-a', 'key-b'].map((idempotencyKey) => ({ code: 'UNREACHABLE', idempotencyKey })),
    );
  });

  test('what is known of a call outlasts the PAT with which it was made', async () => {
    const client = await open({ maxAttempts: 2 });
    await client.obtainPat();
    const refused = { code: 'UNAUTHORIZED', message: 'The PAT has expired.', details: {} };
    service.faults[executePath] = [
      'lost after',
      Response.json({ error: refused }, { status: 401 }),
      new Response('<html>', { status: 403 }),
    ];
    const error = await run(client).catch((caught) => caught);
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 403, effect: 'call' });
  });

  test('an empty answer to an execution is reported with the key of the call', async () => {
    service.faults[executePath] = [new Response(null, { status: 204 })];
    const error = await run(await open(), { idempotencyKey: 'key-a' }).catch((caught) => caught);
    expect(error).toMatchObject({ code: 'UNEXPECTED_ANSWER', effect: 'call', idempotencyKey: 'key-a' });
  });

  test('a call that is being made is not reported as one that was not made', async () => {
    const client = await open({ maxAttempts: 2 });
    await client.obtainPat();
    const running = { code: 'CONFLICT', message: 'It is being made.', details: { reason: 'running' } };
    service.faults[executePath] = [
      Response.json({ error: running }, { status: 409, headers: { 'Retry-After': '0' } }),
      new Response('', { status: 403 }),
    ];
    expect(await run(client).catch((caught) => caught)).toMatchObject({ code: 'UNEXPECTED_ANSWER', effect: 'call' });
  });

  test('the error of a PAT request has no idempotency key', async () => {
    service.faults[issuePath] = ['lost before', 'lost before'];
    const error = await run(await open({ maxAttempts: 2 })).catch((caught) => caught);
    expect(error).toMatchObject({ message: `Nothing answers at ${baseUrl}. Check the address, and whether the gate is running.` });
    expect(error.idempotencyKey).toBeUndefined();
  });

  test('an answer from something else is reported as such', async () => {
    service.faults[policyPath] = [new Response('<html>', { status: 200 })];
    const error = await run(await open()).catch((caught) => caught);
    expect(error).toBeInstanceOf(UnexpectedAnswer);
    expect(error).toMatchObject({
      code: 'UNEXPECTED_ANSWER',
      status: 200,
      message:
        'GET /api/policy was answered 200, but not in the specified format. Is there an Intent Gate at this address, and of the same version?',
    });
  });
});

describe('the rate limit', () => {
  test('calls wait for quota instead of being refused', async () => {
    service.setPolicy(policyWithRate(2, 'second'));
    const client = await open();
    for (let call = 0; call < 4; call++) await run(client);
    expect(upstream.seen).toHaveLength(4);
    expect(service.requests.filter(({ status }) => status === 429)).toEqual([]);
  });

  test('a call that would wait too long for quota fails', async () => {
    service.setPolicy(policyWithRate(1));
    const client = await open({ maxWaitMs: 1_000 });
    await run(client);
    const error = await run(client).catch((caught) => caught);
    expect(error).toBeInstanceOf(RateLimited);
    expect(error).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      message: expect.stringMatching(/^The limit "execute" is used up\. Try again in \d+ seconds\.$/),
    });
    expect(error.retryAfterMs).toBeGreaterThan(1_000);
    expect(service.count(`POST ${executePath}`)).toBe(1);
    // the limit of all intents, also for intents not executed yet
    await expect(client.execute(otherUid, { code: 'FR' })).rejects.toThrow(RateLimited);
    expect(service.count(`POST ${executePath}`)).toBe(1);
  });

  test('the maximum wait includes all waiting, even if Retry-After is always 0', async () => {
    const refuse = () =>
      Response.json({ error: { code: 'TOO_MANY_REQUESTS', message: 'm', details: {} } }, { status: 429, headers: { 'Retry-After': '0' } });
    service.faults[executePath] = Array.from({ length: 9 }, refuse);
    await expect(run(await open({ maxWaitMs: 1_100 }))).rejects.toThrow(RateLimited);
    expect(service.count(`POST ${executePath}`)).toBe(5);
  });

  test('the rate limit of one intent does not delay executions of another', async () => {
    const template = policyWithRate(60);
    const target = `{base_url}/api/intents/${uid}`;
    const constraint = policyWithRate(1, 'day').permission?.[0]?.constraint;
    service.setPolicy({
      ...template,
      permission: [...(template.permission ?? []), { target, action: 'execute', ...(constraint && { constraint }) }],
    });
    const client = await open({ maxWaitMs: 1_000 });
    await run(client);
    await expect(run(client)).rejects.toThrow(RateLimited);
    for (let call = 0; call < 3; call++) expect(await client.execute(otherUid, { code: 'FR' })).toEqual({ name: 'France' });
    await expect(run(client)).rejects.toThrow(RateLimited);
    expect(service.count(`POST ${executePath}`)).toBe(4);
  });
});

test('a refusal contains everything that the gate said', async () => {
  const client = await open();
  const error = await client.execute(uid, {}).catch((caught) => caught);
  expect(error).toBeInstanceOf(Refusal);
  expect(error).toBeInstanceOf(IntentGateError);
  expect(error).toMatchObject({
    code: 'INVALID_PARAMETER',
    status: 400,
    details: { issues: [{ path: '/parameters/code', problem: expect.stringContaining('is required') }] },
    requestId: 'request-1',
    retryAfterMs: undefined,
  });
});

describe('proofs of possession', () => {
  test('a proof of possession binds the PAT, and every call proves the key', async () => {
    const client = await open({ dpop: true });
    expect(await run(client)).toEqual({ name: 'France' });
    const { headers } = service.requests.at(-1) as Service['requests'][number];
    const stolen = headers.get('authorization')?.replace('DPoP ', '') ?? '';
    const thief = await service.fetch(`${baseUrl}${executePath}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${stolen}` },
      body: JSON.stringify({ intent_uid: uid, parameters: { code: 'FR' } }),
    });
    expect(thief.status).toBe(401);
  });

  test('a request that is sent again gets a new proof', async () => {
    const client = await open({ dpop: true });
    service.faults[executePath] = ['lost after'];
    expect(await run(client)).toEqual({ name: 'France' });
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('an AbortSignal', () => {
  test('an AbortSignal ends one call, but not the PAT request that others wait for', async () => {
    const { promise: decided, resolve: decide } = Promise.withResolvers<boolean>();
    const client = await open({ onPolicy: () => decided });
    const giveUp = new AbortController();
    const [impatient, patient] = [run(client, { signal: giveUp.signal }), run(client)];
    giveUp.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    decide(true);
    expect(await patient).toEqual({ name: 'France' });
    expect(upstream.seen).toHaveLength(1);
  });

  test('an AbortSignal ends a wait for quota', async () => {
    service.setPolicy(policyWithRate(1));
    const client = await open();
    await run(client);
    const giveUp = new AbortController();
    const waiting = run(client, { signal: giveUp.signal });
    setImmediate(() => giveUp.abort(new Error('enough')));
    await expect(waiting).rejects.toThrow('enough');
  });
});

test.each([
  ['P-256', { name: 'ECDSA', namedCurve: 'P-256' }],
  ['P-384', { name: 'ECDSA', namedCurve: 'P-384' }],
  ['Ed25519', { name: 'Ed25519' }],
  ['RSA', { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }],
  ['RSA-PSS', { name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }],
])('a key of the kind %s is accepted', async (_, algorithm) => {
  const key = (await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])) as unknown as ConnectOptions['key'];
  expect(await run(await open({ ...(key && { key }), dpop: true }))).toEqual({ name: 'France' });
});

test('a key of another kind is refused', async () => {
  const key = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-521' }, false, [
    'sign',
    'verify',
  ])) as unknown as ConnectOptions['key'];
  await expect(run(await open({ ...(key && { key }) }))).rejects.toThrow(
    new TypeError('The key must be one of ECDSA with P-256 or P-384, Ed25519, or RSA with SHA-256.'),
  );
});

test.each<{ what: string; url: string; options?: Partial<ConnectOptions>; message: string }>([
  {
    what: 'an invalid address',
    url: 'gate.example',
    message: 'the address of the gate must be an http or https URL, such as https://gate.example',
  },
  {
    what: 'http to another machine',
    url: 'http://gate.example',
    message: 'the address of the gate must begin with https://; tokens may be sent over http only to this machine',
  },
  {
    what: 'a password in the address',
    url: 'https://a:b@gate.example',
    message: 'the address of the gate must not contain user information',
  },
  { what: 'no agentId', url: baseUrl, options: { agentId: '' }, message: 'connect needs an agentId' },
  {
    what: 'no onPolicy',
    url: baseUrl,
    options: { onPolicy: true as unknown as OnPolicy },
    message: 'connect needs onPolicy, a function that decides whether a policy is accepted',
  },
])('$what is misuse', async ({ url, options = {}, message }) => {
  await expect(connect(url, { agentId: 'me', onPolicy: () => true, ...options })).rejects.toThrow(new TypeError(message));
});

test('an idempotencyKey that no header can carry is a TypeError', async () => {
  await expect(run(await open(), { idempotencyKey: 'schlüssel' })).rejects.toThrow(
    new TypeError('an idempotencyKey has 1 to 255 visible ASCII characters'),
  );
});
