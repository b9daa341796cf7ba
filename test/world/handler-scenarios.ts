import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { p256 } from '@noble/curves/nist.js';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Context } from 'aws-lambda';
import type { Kms } from '../../functions/core/aws/kms.ts';
import { type Action, serve } from '../../functions/core/http/serve.ts';
import { countExecution } from '../../functions/core/limit/limit-request.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { openSigningKeys } from '../../functions/core/pat/signing-keys.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { chargesOf } from '../../functions/core/policy/judge.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import type { ApiDocument } from '../../schemas/openapi.ts';
import { answerFrom, openAuthenticate, openExecuteOver, openIssueOver } from '../support/actions.ts';
import { makeAgent, signJws, signProof, type TestAgent } from '../support/agent-keys.ts';
import { eventOf } from '../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { type Caller, type End, type Failure, type Scenario, usualStartMs } from './explore.ts';
import { openMemoryTable } from './memory-table.ts';
import { alike, answerOf, errorsOf, firstOf, lastOf, relayFails, times, valuesOf } from './outcomes.ts';

const uid = 'a.example:b:v1';
const baseUrl = 'https://api.example/test';
const always = () => true;
const pausedService = { ...serviceNamed('Service'), paused: true };

const document: ApiDocument = JSON.parse(readFileSync('openapi.json', 'utf8'));
const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema({ $id: 'gate', ...document });
const validators = new Map<string, ValidateFunction>();

interface Answer {
  status: number;
  body: Record<string, unknown>;
  code?: string;
}

/** I6: an answer has a status that the OpenAPI document describes for the endpoint, and matches its schema. */
function requireDescribed(path: string, status: number, body: unknown): void {
  const responses = document.paths[path]?.post?.responses ?? {};
  const described = String(status) in responses ? String(status) : 'default';
  const found = responses[described] as { $ref?: string } | undefined;
  assert.ok(found, `${path} answers ${status}, which is not described`);
  const at = found.$ref?.slice(1) ?? `/paths/${path.replaceAll('/', '~1')}/post/responses/${described}`;
  const validate = validators.get(at) ?? ajv.compile({ $ref: `gate#${at}/content/application~1json/schema` });
  validators.set(at, validate);
  assert.ok(validate(body), `an answer of ${path} does not match its schema: ${ajv.errorsText(validate.errors)}`);
}

/** A request as Lambda gets it; it ends, and its answer is one that is described (I6, I7). */
async function post(action: Action, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const event = eventOf(`POST ${path}`, { headers, body });
  const context = { getRemainingTimeInMillis: () => 29_000 } as Context;
  const { statusCode: status, body: text } = await serve(action, { protocol: 'proto' })(event, context);
  const answer = JSON.parse(text);
  requireDescribed(path, status, answer);
  assert.notEqual(status, 500, text);
  return { status, body: answer, ...(answer.error && { code: answer.error.code }) };
}

/** KMS signs with this key. */
const kmsKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const agents = (await Promise.all(times(2, () => makeAgent()))) as [TestAgent, TestAgent];

const kmsFails = (variant: Failure): Error => Object.assign(new Error(`KMS: ${variant}`), { name: 'TimeoutError' });

/** KMS, whose answers come from a key here: when they do, and whether, is for the scheduler to say. */
function openKms(act: Caller['act']): Pick<Kms, 'sign' | 'getPublicKey'> {
  const call = async <T>(operation: string, effect: () => T): Promise<T> =>
    act(`KMS ${operation}`, effect, { failure: kmsFails, isUnseen: true });
  return {
    getPublicKey: () => call('GetPublicKey', () => ({ arn: 'key', publicKey: kmsKey.publicKey.export({ format: 'der', type: 'spki' }) })),
    sign: (_, digest) => call('Sign', () => Buffer.from(signDigest(digest))),
  };
}

const kmsSecret = Buffer.from(kmsKey.privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');

const signDigest = (digest: Uint8Array): Uint8Array => p256.sign(digest, kmsSecret, { prehash: false, format: 'der' });

/** A rate of the policy in force; or its own with a price of 1 EUR for each call, of a budget of 2 EUR. */
type Terms = number | 'priced';

function templateOf(terms: Terms): ReturnType<typeof loadPolicyTemplate> {
  const template = loadPolicyTemplate();
  if (terms !== 'priced') return JSON.parse(JSON.stringify(template).replace('"rightOperand":60', `"rightOperand":${terms}`));
  const duty = [{ action: 'pay', amount: { price: 1, budget: 2 }, unit: 'v:EUR', timeInterval: 'P1D' }];
  return { ...template, permission: template.permission?.map((permission) => ({ ...permission, duty })) };
}

/** What becomes of a call: it cannot be connected, its connection is lost before anything is sent, or it is sent. */
type Upstream = 'dead' | 'lost' | 'live';

/** A new instance of `execute-intent`, which calls the upstream through the scheduler. */
function openExecute({ table, act }: Caller, rate: Terms, call: () => void, upstream: Upstream = 'live'): Action {
  return openExecuteOver(table, {
    authenticate: openAuthenticate(table, openSigningKeys(openKms(act), ['key']), templateOf(rate)),
    relay: {
      connect: async () => {
        if (upstream === 'dead') throw new CallFailed('unreachable');
        return {
          send: async () => {
            if (upstream === 'lost') throw new CallFailed('lost');
            await act('upstream', call, { failure: relayFails });
            return answerFrom('https://up.example/');
          },
          drop: () => {},
        };
      },
    },
  });
}

/** A new instance of `issue-pat`. */
const openIssue = ({ table, act }: Caller, { rate = 60, issues = 60 }: { rate?: Terms; issues?: number } = {}): Action =>
  openIssueOver(table, {
    template: templateOf(rate),
    signingKeys: openSigningKeys(openKms(act), ['key']),
    settings: { issueLimitPerHour: issues },
  });

const unscheduled = (table: Table): Caller => ({ table, act: async (_, effect) => effect() });

/** A PAT request of one agent. Signing takes longer than a schedule, so it is done once. */
const requests = new Map<string, Promise<object>>();
function requestOf({
  agentId = 'agent',
  at = 0,
  rate = 60,
  jti,
}: {
  agentId?: string;
  at?: number;
  rate?: Terms;
  jti?: string;
}): Promise<object> {
  const name = JSON.stringify([agentId, at, rate, jti]);
  const make = async () => {
    const agent = agents[at] as TestAgent;
    const { text } = openPolicy(templateOf(rate))(baseUrl);
    const iat = Math.floor(Date.now() / 1_000);
    const payload = jti === undefined ? text : JSON.stringify({ ...JSON.parse(text), jti, iat, exp: iat + 300 });
    return { agent_id: agentId, signed_policy: await signJws(agent, payload), agent_public_key: JSON.stringify(agent.jwk) };
  };
  const made = requests.get(name) ?? make();
  requests.set(name, made);
  return made;
}

const issue = async (action: Action, request: Parameters<typeof requestOf>[0] = {}) =>
  post(action, '/api/pat/issue', await requestOf(request));

/** A table in which an agent has a PAT, and a service an intent: made by the handlers once, and copied. */
const worlds = new Map<
  Terms,
  Promise<{ items: ReturnType<ReturnType<typeof openMemoryTable>['items']>; pats: string[]; serviceId: string }>
>();
function worldOf(rate: Terms) {
  const make = async () => {
    const table = openMemoryTable();
    const { service_id: serviceId } = await openServices(table).create(serviceNamed('Service'));
    await openIntents(table).create(serviceId, intentOf(uid));
    const pats: string[] = [];
    for (const agentId of ['agent', 'another']) {
      const { body } = await issue(openIssue(unscheduled(table), { rate }), { rate, agentId });
      pats.push(String(body['proto-pat']));
    }
    return { items: table.items(), pats, serviceId };
  };
  const made = worlds.get(rate) ?? make();
  worlds.set(rate, made);
  return made;
}

/** The proof of possession of an execution. Signing takes longer than a schedule, so it is done once. */
const proofs = new Map<string, Promise<string>>();
function proofFor(token: string): Promise<string> {
  const made = proofs.get(token) ?? signProof(agents[0], { url: `${baseUrl}/api/intents/execute`, token });
  proofs.set(token, made);
  return made;
}

interface Setting {
  rate?: Terms;
  /** of each caller; all are live by default */
  upstreams?: readonly Upstream[];
  idempotencyKey?: string;
  /** how many execute */
  count: number;
  /** each under an agent_id of its own, and all with one key */
  isOfTwoNames?: true;
  /** all with one proof of possession, as if the agent or a thief sent it again */
  hasProof?: true;
  /** what another one does meanwhile */
  beside?: (table: Table, serviceId: string) => Promise<unknown>;
}

const isFailure = (code: string | undefined) =>
  code === 'SERVICE_UNAVAILABLE' || code === 'GATEWAY_TIMEOUT' || code === 'INTENT_EXECUTION_FAILED';

/** Executions through the shipped handler, beside something else. */
const executing = (
  name: string,
  promise: string,
  { rate = 60, upstreams = [], idempotencyKey, count, isOfTwoNames, hasProof, beside }: Setting,
  budget: Scenario['budget'],
  check: (end: End, made: { calls: number }, answers: Answer[]) => void | Promise<void>,
): Scenario => ({
  name,
  promise: `${promise}; I6, I7: each is answered as described`,
  budget,
  prepare: async (table) => {
    const { items, pats, serviceId } = await worldOf(rate);
    for (const item of items) await table.put(item);
    const made = { calls: 0 };
    const proof = hasProof && (await proofFor(pats[0] as string));
    const headersOf = (at: number) => ({
      Authorization: `Bearer ${pats[isOfTwoNames ? at : 0]}`,
      ...(proof && { DPoP: proof }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    });
    const call = () => {
      made.calls++;
    };
    const executed = { intent_uid: uid, parameters: { code: 'FR' } };
    const callers = alike(count, (caller, at) =>
      post(openExecute(caller, rate, call, upstreams[at]), '/api/intents/execute', executed, headersOf(at)),
    );
    return {
      callers: [...callers, ...(beside ? [async ({ table: own }: Caller) => (await beside(own, serviceId)) ?? 'done'] : [])],
      check: async (end) => {
        for (const error of errorsOf(end.outcomes.slice(0, count))) throw error;
        await check(end, made, valuesOf(end.outcomes.slice(0, count)) as Answer[]);
      },
    };
  },
});

/** Who executed had read what was stopped before it was. */
const stoppedBy =
  (count: number, read: string) =>
  (end: End): void => {
    if (answerOf(end.outcomes[count]) === undefined) return;
    const stoppedAt = firstOf(end, count, 'transact');
    for (let caller = 0; caller < count; caller++) {
      const isCalled = lastOf(end, caller, 'upstream') >= 0;
      if (isCalled) assert.ok(lastOf(end, caller, read) < stoppedAt, 'a call was made for somebody who had read that it must not be');
    }
  };

/** How many callers there are at once, and what may go wrong. */
const plays: { count: number; budget: Scenario['budget'] }[] = [
  { count: 2, budget: { faults: 1 } },
  { count: 2, budget: { crashes: 1, stragglers: 1 } },
  { count: 3, budget: { faults: 1, crashes: 1 } },
];
const describePlay = ({ count, budget }: (typeof plays)[number]) => `${count} callers, ${Object.keys(budget).join(' and ')}`;

const limited: Scenario[] = plays.map(({ count, budget }) =>
  executing(
    `executions through the handler, a limit of ${count - 1}, ${describePlay({ count, budget })}`,
    'I4: at most `rate` calls',
    { rate: count - 1, count },
    budget,
    (end, { calls }, answers) => {
      assert.ok(calls < count, `${calls} calls were made, ${count - 1} are allowed`);
      if (end.isUndisturbed) assert.equal(answers.filter(({ status }) => status === 200).length, count - 1);
      for (const { status, code } of answers) assert.ok([200, 429].includes(status) || isFailure(code), `${status} ${code}`);
    },
  ),
);

/** The money that an agent has been charged, in cents. */
async function chargedTo(table: Table): Promise<number> {
  const { rules } = openPolicy(templateOf('priced'))(baseUrl).compiled;
  const { thumbprint } = agents[0];
  const { states } = await openRateLimiter(table).inspect(countExecution({ principal: thumbprint, account: thumbprint }, chargesOf(rules)));
  return states.find(({ charge }) => charge.currency !== undefined)?.used ?? 0;
}

const priced: Scenario[] = (
  [
    [['dead', 'dead', 'live'], {}],
    [['lost', 'lost', 'live'], {}],
    [['dead', 'lost', 'live'], { faults: 1, crashes: 1 }],
  ] as const
).map(([upstreams, budget]) =>
  executing(
    `executions through the handler with a budget, ${[...upstreams, ...Object.keys(budget)].join(', ')}`,
    'a call that was not sent costs nothing, and one that was sent is charged',
    { rate: 'priced', count: upstreams.length, upstreams },
    budget,
    async ({ table, isFaultless }, { calls }) => {
      const charged = await chargedTo(table);
      assert.ok(charged >= calls * 100 && charged <= 200, `${calls} calls were made, and ${charged} cents are charged`);
      if (isFaultless) assert.equal(charged, calls * 100, 'what was not sent is charged');
      // one whose connection is lost is charged until that is known
      const canCall = !(upstreams as readonly Upstream[]).includes('lost');
      if (isFaultless && canCall) assert.equal(calls, 1, 'a call was refused for the price of those that cannot be connected');
    },
  ),
);

const keyed: Scenario[] = plays.map(({ count, budget }) =>
  executing(
    `executions through the handler under one key, ${describePlay({ count, budget })}`,
    'I5: at most one call, and one answer for all',
    { count, idempotencyKey: 'once' },
    budget,
    (end, { calls }, answers) => {
      assert.ok(calls <= 1, `the upstream was called ${calls} times under one key`);
      if (end.isUndisturbed) assert.equal(calls, 1);
      for (const { status, body, code } of answers) {
        if (status === 200) assert.deepEqual(body, { name: 'France' });
        else assert.ok(code === 'CONFLICT' || isFailure(code), `${status} ${code}`);
      }
    },
  ),
);

const proven = executing(
  'executions through the handler with one proof of possession',
  'M4: a proof is good for one call',
  { count: 3, hasProof: true },
  { faults: 1, crashes: 1 },
  (end, { calls }, answers) => {
    assert.ok(calls <= 1, `${calls} calls were made with one proof`);
    if (end.isUndisturbed) assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401]);
    for (const { status, code } of answers) assert.ok([200, 401].includes(status) || isFailure(code), `${status} ${code}`);
  },
);

/** What stops calls, what was done to it, how many execute, and where each of them reads of it. */
export type Stop = [what: string, done: string, count: number, read: string, beside: NonNullable<Setting['beside']>, crashes?: 1];

const stops: Stop[] = [
  [
    'the delete of its intent',
    'of an intent that was read as deleted',
    2,
    'get INTENT#',
    (table) => openIntents(table).remove(uid, always),
  ],
  [
    'the delete of its service',
    'of a service that was read as deleted',
    2,
    'get SERVICE#',
    (table, serviceId) => openServices(table).remove(serviceId, always),
  ],
  [
    'a pause of its service',
    'of a service that was read as paused',
    2,
    'get SERVICE#',
    (table, serviceId) => openServices(table).replace(serviceId, pausedService, always),
  ],
];
/** Executions beside what stops them. */
export const stoppedWith = ([what, done, count, read, beside, crashes]: Stop): Scenario =>
  executing(
    `execution through the handler beside ${what}`,
    `I1: no call ${done}`,
    { count, beside },
    { faults: 1, ...(crashes && { crashes }) },
    stoppedBy(count, read),
  );

/** Requests for PATs through the shipped handler. */
const issuing = (
  name: string,
  promise: string,
  asked: Parameters<typeof requestOf>[0][],
  budget: Scenario['budget'],
  check: (end: End, answers: Answer[]) => void | Promise<void>,
  issues = 60,
): Scenario => ({
  name,
  promise: `${promise}; I6, I7: each is answered as described`,
  budget,
  prepare: async () => ({
    callers: asked.map((request) => (caller: Caller) => issue(openIssue(caller, { issues }), request)),
    check: async (end) => {
      for (const error of errorsOf(end.outcomes)) throw error;
      const answers = valuesOf(end.outcomes) as Answer[];
      // I1: whoever has a PAT has one that is good
      for (const { status, body } of answers) if (status === 200) await requireGood(end, String(body['proto-pat']));
      await check(end, answers);
    },
  }),
});

async function requireGood({ table }: End, pat: string): Promise<void> {
  const verify = openPatVerifier({
    findKey: openSigningKeys(
      openKms(async (_, effect) => effect()),
      ['key'],
    ).find,
  });
  const { sub, gen } = await verify(pat, { baseUrl, nowMs: usualStartMs });
  const agent = await table.get<{ generation: string }>(keys.agent(sub));
  assert.equal(agent?.generation, gen, 'a PAT was issued that is not good');
}

const granted = (answers: Answer[]) => answers.filter(({ status }) => status === 200).length;

const issued: Scenario[] = [
  ...plays.map(({ count, budget }) =>
    issuing(
      `issue through the handler to two keys, ${describePlay({ count, budget })}`,
      'I1: an agent_id belongs to one key',
      times(count, (at) => ({ at: at % 2 })),
      budget,
      (end, answers) => {
        const holders = end.outcomes.flatMap((outcome, at) => ((answerOf(outcome) as Answer | undefined)?.status === 200 ? [at % 2] : []));
        assert.ok(new Set(holders).size <= 1, 'two keys were issued PATs under one agent_id');
        if (end.isUndisturbed) assert.ok(holders.length >= 1 && answers.every(({ status }) => status === 200 || status === 403));
      },
    ),
  ),
  issuing(
    'issue through the handler beyond the limit',
    'I4: at most so many PATs for a key',
    [{}, {}],
    { faults: 1, crashes: 1 },
    (end, answers) => {
      assert.ok(granted(answers) <= 1, 'more PATs were issued than may be');
      if (end.isUndisturbed) assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 429]);
    },
    1,
  ),
  issuing(
    'issue through the handler of one signed policy',
    'I5: a jti is used once',
    [{ jti: 'once' }, { jti: 'once' }],
    { faults: 1, crashes: 1 },
    (end, answers) => {
      assert.ok(granted(answers) <= 1, 'one signed policy was used twice');
      if (end.isUndisturbed) assert.equal(granted(answers), 1);
    },
  ),
];

const twoNames = executing(
  'executions through the handler under two names of one key',
  'I4: a rate belongs to a key',
  { rate: 1, count: 2, isOfTwoNames: true },
  {},
  (_, { calls }) => assert.equal(calls, 1, `${calls} calls were made, one is allowed`),
);

export const handlerScenarios: Scenario[] = [...limited, ...priced, twoNames, ...keyed, proven, ...stops.map(stoppedWith), ...issued];
