import { createPublicKey } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { calculateJwkThumbprint, decodeJwt } from 'jose';
import { type Agreement, type ConnectOptions, connect, openMemoryKeyStore } from '../../../client/connect.ts';
import { openAgents } from '../../../functions/agents/agents.ts';
import { openApprovalCheck } from '../../../functions/agents/approval-check.ts';
import { openApprovedDomains } from '../../../functions/agents/approved-domains.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import { openBoundReads } from '../../../functions/core/pat/document-reads.ts';
import { openPatVerifier } from '../../../functions/core/pat/verify.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { openRegistry } from '../../../functions/core/registry/registry.ts';
import { openSqliteEngine } from '../../../functions/core/search/sqlite/engine.ts';
import { createAction as getIntent } from '../../../functions/get-intent.ts';
import { createAction as searchIntents } from '../../../functions/search-intents.ts';
import { openDirectories } from '../../../functions/web-bot-auth/agent-directory.ts';
import { toAgent } from '../../../schemas/agents/agents.ts';
import { serviceOver } from '../../client/service.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { type Agent, baseUrl, execute, newAgent, requestPat, startGate } from '../../support/gate.ts';
import { type Call, invoke, refusalOf, someAdmin } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { refusals } from '../../support/registry.ts';
import { startUpstream } from '../../support/upstream.ts';

const certificate = makeCertificate('bot.example');
let answer: { status?: number; headers?: Record<string, string>; body: string };
const upstream = await startUpstream((_, response) => {
  response.writeHead(answer.status ?? 200, { 'Content-Type': 'application/http-message-signatures-directory+json', ...answer.headers });
  response.end(answer.body);
}, certificate);
let nowMs = Date.now();
const network = { resolve: async () => [{ address: '127.0.0.1', family: 4 as const }], trustedCertificate: certificate.cert };
const gate = await startGate(network);
const { table } = gate.database;
const [agents, domains] = [openAgents(table), openApprovedDomains(table)];
const rulesOfRequests = { ports: [443], allowLoopback: true, ownHosts: [] };
const verifyDomain = openDirectories(openBoundReads(table, 'issue-pat'), { rules: rulesOfRequests, ...network }, () => nowMs);
afterAll(() => Promise.all([gate.stop(), upstream.stop()]));

const domain = `bot.example:${upstream.port}`;
const agent_directory = `https://${domain}`;
const rules = {
  permission: [
    { target: '{base_url}/api/intents?namespace=open.example', action: 'execute' },
    { target: '{base_url}/api/intents?namespace=bot.example', action: 'execute', assignee: domain },
  ],
  prohibition: [{ target: '{base_url}/api/intents/open.example:a:v1', action: 'execute', assignee: 'acme' }],
};
const policy = parsePolicyTemplate(JSON.stringify(rules));

const openIssue = (isApprovalRequired = false) =>
  gate.openIssue(policy, { verifyDomain, checks: [openApprovalCheck(table, isApprovalRequired)] });
const jwkOf = (agent: Agent) => JSON.parse(agent.publicJwk);
const list = (...agents: Agent[]) => {
  answer = { body: JSON.stringify({ keys: agents.map((agent) => ({ ...jwkOf(agent), kid: 'any', use: 'sig' })) }) };
  nowMs += 61_000;
};
const ask = (agent: Agent, more: object = { agent_directory }, isApprovalRequired = false) =>
  requestPat(openIssue(isApprovalRequired), agent, policy, more);
const requestAs = (more: object) => ask(agent, more);
const claimsOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => (status === 200 ? decodeJwt(body['proto-pat']) : body);

let agent: Agent;
beforeEach(async () => {
  agent = await newAgent();
  list(await newAgent(), agent);
});

const refusedFor = (problem: unknown) => refusals.invalid(['/agent_directory', problem]);

describe('an agent', () => {
  test('an agent is verified if its directory lists its key at each issue', async () => {
    expect(claimsOf(await ask(agent))).toMatchObject({
      agent_domain: domain,
      scope: ['open.example:*:*:execute', 'bot.example:*:*:execute'],
      cnf: { jkt: await calculateJwkThumbprint(jwkOf(agent)) },
    });
    const shown = async () => toAgent((await agents.find(agent.agentId)) ?? { agent_id: '' }, 'active').agent_domain;
    expect(await shown()).toBe(domain);
    const plain = claimsOf(await ask(agent, {}));
    expect([plain.agent_domain, plain.scope, await shown()]).toEqual([undefined, ['open.example:*:*:execute'], undefined]);
    await ask(agent);
    list(await newAgent());
    expect(refusalOf(await ask(agent))).toEqual(refusedFor('must lead to a directory that lists agent_public_key'));
    expect(await shown()).toBe(domain);
  });

  const reading = 'must be the https origin of a public host that answers';
  const keySet = 'must lead to a JWK set';
  const own = async () => JSON.stringify({ keys: [jwkOf(agent)] });
  test.each<[string, () => Promise<typeof answer>, string]>([
    ['redirects', async () => ({ status: 302, headers: { Location: agent_directory }, body: await own() }), reading],
    ['is of another type', async () => ({ headers: { 'Content-Type': 'text/html' }, body: await own() }), reading],
    ['names 10,000 keys', async () => ({ body: JSON.stringify({ keys: Array(10_000).fill({ kty: 'EC' }) }) }), reading],
    ['is cut off', async () => ({ headers: { 'Content-Length': '100000' }, body: await own() }), reading],
    ['has too many keys', async () => ({ body: JSON.stringify({ keys: Array(101).fill(jwkOf(agent)) }) }), keySet],
    ['has too many keys that are none', async () => ({ body: JSON.stringify({ keys: [jwkOf(agent), ...Array(100).fill(null)] }) }), keySet],
    ['has no list of keys', async () => ({ body: JSON.stringify({ keys: jwkOf(agent) }) }), keySet],
    ['lists another key', async () => ({ body: JSON.stringify({ keys: [jwkOf(await newAgent())] }) }), 'lists agent_public_key'],
    ...[{ exp: 1_700_000_000 }, { nbf: 4_000_000_000 }, { nbf: 4_000_000_000_000 }, { exp: '4000000000' }, { use: 'enc' }].map(
      (limits): [string, () => Promise<typeof answer>, string] => [
        `lists its key with ${JSON.stringify(limits)}`,
        async () => ({ body: JSON.stringify({ keys: [{ ...jwkOf(agent), ...limits }] }) }),
        'lists agent_public_key',
      ],
    ),
    [
      'lists the kid alone',
      async () => ({ body: JSON.stringify({ keys: [{ ...jwkOf(await newAgent()), kid: await calculateJwkThumbprint(jwkOf(agent)) }] }) }),
      'lists agent_public_key',
    ],
  ])('an agent is not verified by a directory that %s', async (_, answers, problem) => {
    answer = await answers();
    expect(refusalOf(await ask(agent))).toEqual(refusedFor(expect.stringContaining(problem)));
    expect(await agents.find(agent.agentId)).toBeUndefined();
  });

  test('an agent is verified by a key that its directory lists for signatures and for now', async () => {
    const limits = { use: 'sig', nbf: 1_700_000_000, exp: 4_000_000_000_000, alg: 'ES256' };
    // a thumbprint does not depend on members of other types of keys
    answer = { body: JSON.stringify({ keys: [{ ...jwkOf(agent), ...limits, n: null, e: 'AQAB' }] }) };
    expect(claimsOf(await ask(agent))).toMatchObject({ agent_domain: domain });
  });

  const invalidKeys = [{ kid: 'old' }, { kty: 'EC', crv: 'P-256', x: 5 }, null, { kty: 'OKP', crv: 'Ed25519', x: 'a', n: null }, 'key', []];
  test.each(invalidKeys.map((key) => JSON.stringify(key)))('an agent is verified although its directory also lists %s', async (key) => {
    answer = { body: `{"keys":[${key},${JSON.stringify(jwkOf(agent))}]}` };
    expect(claimsOf(await ask(agent))).toMatchObject({ agent_domain: domain });
  });

  test.each(['ftp://bot.example', 'https://bot.example/keys', 'https://a@bot.example', 'https://BOT.example'])(
    'an agent cannot name the directory %j',
    async (name) => {
      const seen = upstream.seen.length;
      const refused = await ask(agent, { agent_directory: name });
      expect(refusalOf(refused)).toEqual(refusedFor('must be an https origin, such as https://bot.example'));
      expect(upstream.seen.length).toBe(seen);
    },
  );

  test('an agent causes one directory read a minute, and none before its signature is verified', async () => {
    const seen = upstream.seen.length;
    expect((await ask({ ...agent, privateKey: (await newAgent()).privateKey })).status).toBe(400);
    expect(upstream.seen.length).toBe(seen);
    const issue = openIssue();
    for (let count = 0; count < 3; count++) expect((await requestPat(issue, agent, policy, { agent_directory })).status).toBe(200);
    expect(upstream.seen.length).toBe(seen + 1);
  });
});

test('the client names its directory, and keeps no PAT for another one', async () => {
  const service = serviceOver({ ...gate, openIssue: () => openIssue() });
  service.setPolicy(policy);
  const keyStore = openMemoryKeyStore();
  const agreements = new Map<string, Agreement>();
  const agreementStore = {
    load: async (url: string) => agreements.get(url),
    save: async (url: string, one: Agreement) => void agreements.set(url, one),
  };
  const open = (more: Partial<ConnectOptions>) =>
    connect(baseUrl, { agentId: 'client', keyStore, agreementStore, onPolicy: () => true, fetch: service.fetch, ...more });
  const domainOf = async (more: Partial<ConnectOptions>) => decodeJwt((await (await open(more)).obtainPat()).pat).agent_domain;
  expect(await domainOf({})).toBeUndefined();
  const { agent_public_key } = JSON.parse(String(service.requests.find(({ what }) => what.endsWith('/api/pat/issue'))?.body));
  answer = { body: JSON.stringify({ keys: [createPublicKey(agent_public_key).export({ format: 'jwk' })] }) };
  expect(await domainOf({ agentDirectory: agent_directory })).toBe(domain);
  expect(await domainOf({ agentDirectory: agent_directory })).toBe(domain);
  expect(await domainOf({})).toBeUndefined();
  expect(service.count('POST /api/pat/issue')).toBe(3);
  await expect(domainOf({ agentDirectory: 'https://127.0.0.1:1' })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
});

test('an approved domain lets in waiting and later agents, except blocked ones', async () => {
  const other = await newAgent();
  list(agent, other);
  const waits = { status: 403, body: { error: { details: { reason: 'approval_pending' } } } };
  expect(await ask(agent, { agent_directory }, true)).toMatchObject(waits);
  expect(await agents.findWaiting(agent.agentId)).toMatchObject([{ domain }]);
  await domains.approve(someAdmin, domain);
  expect(await domains.list()).toMatchObject([{ domain }]);
  for (const one of [agent, other]) expect((await ask(one, { agent_directory }, true)).status).toBe(200);
  expect(await agents.findWaiting(agent.agentId)).toEqual([]);
  expect(await ask(await newAgent(), {}, true)).toMatchObject(waits);
  const third = await newAgent();
  list(third);
  await agents.block(someAdmin, { agentId: third.agentId, thumbprint: await calculateJwkThumbprint(jwkOf(third)) }, 'abuse');
  expect(await ask(third, { agent_directory }, true)).toMatchObject({
    status: 403,
    body: { error: { details: { reason: 'agent_blocked' } } },
  });
  await domains.remove(someAdmin, domain);
  expect(await domains.remove(someAdmin, domain)).toBeUndefined();
  const fourth = await newAgent();
  list(fourth);
  expect(await ask(fourth, { agent_directory }, true)).toMatchObject(waits);
});

test('an agent that was approved through its domain cannot get a PAT without it', async () => {
  const member = await newAgent();
  list(member);
  await domains.approve(someAdmin, domain);
  const issued = await ask(member, { agent_directory }, true);
  expect(issued.status).toBe(200);
  const message = 'This agent was approved through its domain. Send agent_directory again, or ask again once the agent itself is approved.';
  const shed = { status: 403, body: { error: { message, details: { reason: 'approval_pending' } } } };
  for (let count = 0; count < 2; count++) expect(await ask(member, {}, true)).toMatchObject(shed);
  await domains.remove(someAdmin, domain);
  expect((await ask(member, { agent_directory }, true)).status).toBe(200);
  await agents.approve(someAdmin, { agentId: member.agentId });
  const own = await ask(member, {}, true);
  expect(own.status).toBe(200);
  expect(decodeJwt(own.body['proto-pat']).gen).toBe(decodeJwt(issued.body['proto-pat']).gen);
  expect(await agents.findWaiting(member.agentId)).toEqual([]);
});

test('directory reads are limited like PATs, and failing directories are not read for each request', async () => {
  const eager = await newAgent();
  const issue = openIssue();
  answer = { body: 'no JSON' };
  const seen = upstream.seen.length;
  for (let count = 0; count < 3; count++) expect((await requestPat(issue, eager, policy, { agent_directory })).status).toBe(400);
  expect(upstream.seen.length).toBe(seen + 1);
  const asked = [];
  for (let port = 1; port <= 60; port++)
    asked.push((await requestPat(issue, eager, policy, { agent_directory: `https://127.0.0.1:${port}` })).status);
  expect(asked).toEqual([...Array(59).fill(400), 429]);
});

test('while strangers name directories that never answer, others get PATs, and further directories are refused immediately', async () => {
  let opened = 0;
  const silent = createServer((socket) => {
    opened++;
    socket.on('error', () => {}).resume();
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  // two instances
  const issues = [openIssue(), openIssue()] as const;
  const nameSilent = async (at: number) => {
    const stranger = await newAgent();
    return requestPat(issues[at % 2 === 0 ? 0 : 1], stranger, policy, { agent_directory: `https://host-${at}.example:${port}` });
  };
  const hanging = [0, 1, 2, 3].map(nameSilent);
  while (opened < 4) await sleep(5);
  const tooMany = {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message: 'The gate is reading too many documents of others. Nothing was read; try again after Retry-After.',
    details: { reason: 'documents' },
  };
  for (let at = 4; at < 12; at++) expect(refusalOf(await nameSilent(at))).toEqual(tooMany);
  for (const issue of issues) expect((await requestPat(issue, await newAgent(), policy)).status).toBe(200);
  expect((await Promise.all(hanging)).map(refusalOf)).toEqual(
    Array(4).fill(refusedFor(expect.stringContaining('must be the https origin'))),
  );
  expect(opened).toBe(4);
  expect((await requestPat(issues[0], agent, policy, { agent_directory })).status).toBe(200);
  await new Promise((resolve) => silent.close(resolve));
});

test.each(['127.0.0.1', '169.254.169.254', 'fd00::1'])('a directory at the private address %s is not read', async (address) => {
  const { port } = upstream;
  const verify = openDirectories((read) => read(), {
    rules: { ports: [port], allowLoopback: false, ownHosts: [] },
    resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
    trustedCertificate: certificate.cert,
  });
  const seen = upstream.seen.length;
  await expect(verify(agent_directory, await calculateJwkThumbprint(jwkOf(agent)), baseUrl, async () => {})).rejects.toMatchObject({
    code: 'INVALID_PARAMETER',
  });
  expect(upstream.seen.length).toBe(seen);
});

test('search and get_intent show what the policy permits to the holder of the PAT', async () => {
  const { service_id } = await gate.services.create(serviceNamed('Finding'));
  const uids = ['bot.example:seek:v1', 'open.example:seek:v1'];
  for (const uid of uids) await gate.intents.create(service_id, intentOf(uid, { intent_name: 'Seek parcels' }));
  const engine = openSqliteEngine(openRegistry(gate.database.table));
  const parts = { findPolicy: openPolicy(policy), verifyPat: openPatVerifier({ findKey: gate.signingKeys.find }) };
  const ask = async (action: Action, call: Call, pat?: string) =>
    (await invoke(action, 'GET /', { ...call, headers: pat === undefined ? {} : { Authorization: `Bearer ${pat}` } })).body;
  const find = async (pat?: string) => {
    const query = { query: 'seek parcels', permitted: 'true' };
    const { intents } = await ask(searchIntents({ engine, ...parts }), { query }, pat);
    return intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid).toSorted();
  };
  const read = async (pat?: string) => {
    const [intent_uid = ''] = uids;
    return (await ask(getIntent({ intents: gate.intents, ...parts }), { path: { intent_uid } }, pat)).terms;
  };
  const [verified, plain] = [(await requestAs({ agent_directory })).body['proto-pat'], (await requestAs({})).body['proto-pat']];
  expect(await find(verified)).toEqual(uids);
  for (const other of [plain, undefined, 'no-pat']) expect(await find(other)).toEqual(uids.slice(1));
  expect(await read(verified)).toEqual(['You may execute every intent of the namespace bot.example.']);
  for (const other of [plain, undefined]) expect(await read(other)).toBeUndefined();
  await engine.close();
});

test('rules with an assignee apply to that agent only, and services see verified domains', async () => {
  const acme = await newAgent('acme');
  list(agent, acme);
  const { service_id } = await gate.services.create(serviceNamed('Bot'));
  const endpoint = { url: `${agent_directory}/call`, method: 'GET', content_type: 'application/json' } as const;
  for (const uid of ['bot.example:a:v1', 'open.example:a:v1'])
    await gate.intents.create(service_id, intentOf(uid, { endpoint, input_parameters: [], output_parameters: [] }));
  const steps = gate.openExecute({ template: policy });
  const call = async (who: Agent, uid: string, more?: object) => {
    const pat = (await ask(who, more)).body['proto-pat'];
    const body = answer.body;
    answer = { headers: { 'Content-Type': 'application/json' }, body: '{}' };
    const { status, body: refusal } = await execute(steps, pat, uid, {});
    answer = { body };
    return [status, refusal.error?.details.reason, status === 200 ? upstream.seen.at(-1)?.headers['agent-domain'] : undefined];
  };
  expect(await call(agent, 'bot.example:a:v1')).toEqual([200, undefined, domain]);
  expect(await call(agent, 'bot.example:a:v1', {})).toEqual([403, 'not_permitted', undefined]);
  expect(await call(agent, 'open.example:a:v1', {})).toEqual([200, undefined, undefined]);
  expect(await call(acme, 'bot.example:a:v1')).toEqual([200, undefined, domain]);
  expect(await call(acme, 'open.example:a:v1')).toEqual([403, 'prohibited', undefined]);
});
