/**
 * `kill -9` of `npm start -- --data DIR` at every write of its table: before it, while it is done, and after it, before its answer is sent.
 * Whatever was answered before has to be there after the next start: services, intents, agents, PATs, executions, credentials and the log;
 * what was not answered has taken place as a whole or not at all; nothing dead is found, listed or executed; names are free or held; the log is
 * whole, and tells what stands.
 * `node bin/run.js test/long/crash.ts [--points 0] [--seed 1]`, 0 for all of them
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { connect } from '../../client/connect.ts';
import { openMemoryKeyStore } from '../../client/keys.ts';
import { openChainCheck } from '../../registry/log-chain.ts';
import type { LogEntry } from '../../schemas/changes.ts';
import { findFreePort, type LocalProcess, startLocal } from '../support/local-process.ts';
import { seededRandom } from '../support/random.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { readNumbers } from './options.ts';

const { points: maxPoints, seed } = readNumbers({ points: 0, seed: 1 });
const random = seededRandom(seed);
const folder = mkdtempSync(join(tmpdir(), 'intent-gate-crash-'));
const violations: string[] = [];
/** The same for every start: a PAT is for one address. */
const port = await findFreePort();

const country = 'world.example:get-country:v1';

/** Starts the stack with the data that there is. */
const start = () => startLocal(folder, ['--data', join(folder, 'data')], { PORT: String(port) }, 'test/long/crash-hook.js');

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every endpoint
  body: any;
  etag: string;
}

async function call(
  { description }: LocalProcess,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(`${description.base_url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${description.admin_token}`, ...(body && { 'Content-Type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text), etag: answer.headers.get('etag') ?? '' };
}

/** Tells the table when to end the process. @returns how many writes there were since it was told the last time */
async function order({ description }: LocalProcess, at: number, when: string): Promise<number> {
  const answer = await fetch(description.dynamodb_endpoint, { method: 'POST', headers: { 'x-crash': `${at} ${when}` } });
  return Number(await answer.text());
}

/** What a reader may find in a place, as JSON: one state, or two while a change is under way. */
class Expected {
  readonly places = new Map<string, { read(stack: LocalProcess): Promise<unknown>; allowed: unknown[] }>();

  /** Changes what stands in some places; whoever is cut short may have changed each of them or not. */
  async change<T>(
    places: [path: string, next: unknown, read: (stack: LocalProcess) => Promise<unknown>][],
    run: () => Promise<T>,
  ): Promise<T> {
    for (const [name, next, read] of places) {
      const { allowed } = this.places.get(name) ?? { allowed: [null] };
      this.places.set(name, { read, allowed: [...allowed, next] });
    }
    const result = await run();
    for (const [name, next, read] of places) this.places.set(name, { read, allowed: [next] });
    return result;
  }

  async check(stack: LocalProcess): Promise<void> {
    for (const [name, place] of this.places) {
      const found = await place.read(stack);
      const states = place.allowed.map((state) => JSON.stringify(state));
      if (!states.includes(JSON.stringify(found))) violations.push(`${name} is ${JSON.stringify(found)}, expected ${states.join(' or ')}`);
      // whichever it was, it stays
      place.allowed = [found];
    }
  }
}

const expected = new Expected();

/** Refuses any other status: a crash shows as a failed connection. */
function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status) violations.push(`${status} expected, ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** The description of a service by its name, or of an intent; null if there is none. */
const serviceAt = (name: string) => async (stack: LocalProcess) => {
  const { body } = await call(stack, 'GET', `/api/services?name=${encodeURIComponent(name)}`);
  const found = body.services.find((service: { service_name: string }) => service.service_name === name);
  if (!found) return null;
  return expectStatus(await call(stack, 'GET', `/api/services/${found.service_id}`), 200).body.description;
};
const intentAt = (uid: string) => async (stack: LocalProcess) => {
  const { status, body } = await call(stack, 'GET', `/api/intents/${encodeURIComponent(uid)}?view=full`);
  return status === 404 ? null : body.description;
};
const agentAt = (round: number) => async (stack: LocalProcess) => {
  const { status } = await call(stack, 'GET', `/api/agents/crash%20${round}`);
  return status === 404 ? null : status;
};

/** A client of the agent of a round, which signs anew whenever it is opened, with the key that it had. */
const keyStores = new Map<number, ReturnType<typeof openMemoryKeyStore>>();
const agentOf = ({ description }: LocalProcess, round: number) => {
  const keyStore = keyStores.get(round) ?? openMemoryKeyStore();
  keyStores.set(round, keyStore);
  return connect(description.base_url, { agentId: `crash ${round}`, onPolicy: () => true, keyStore });
};

const executeWith = async (stack: LocalProcess, pat: string, uid: string, headers: Record<string, string> = {}) =>
  call(
    stack,
    'POST',
    '/api/intents/execute',
    { intent_uid: uid, parameters: { code: 'CH' } },
    { ...headers, Authorization: `Bearer ${pat}` },
  );

/** One of everything that is written. What it does in one round has other names than in any other. */
async function work(stack: LocalProcess, round: number): Promise<void> {
  const [name, newName, goingName] = [`Crash ${round}`, `Crash ${round} renamed`, `Crash ${round} going`];
  const uid = (slug: string) => `crash-${round}.example:${slug}:v1`;
  const at = (path: string) => `/api/services/${path}`;
  const create = (service: string) =>
    expected.change([[`service ${service}`, 'Facts about the world', serviceAt(service)]], async () =>
      expectStatus(await call(stack, 'POST', '/api/services', serviceNamed(service)), 201),
    );
  const add = (id: string, slug: string) =>
    expected.change([[`intent ${uid(slug)}`, 'As created', intentAt(uid(slug))]], async () =>
      expectStatus(await call(stack, 'POST', at(`${id}/intents`), intentOf(uid(slug), { description: 'As created' })), 201),
    );

  const { body: service, etag } = await create(name);
  const { service_id: id } = service;
  await add(id, 'kept');
  await add(id, 'removed');
  const { etag: tag } = await call(stack, 'GET', `/api/intents/${uid('kept')}?view=full`);
  await expected.change([[`intent ${uid('kept')}`, 'As replaced', intentAt(uid('kept'))]], async () =>
    expectStatus(
      await call(stack, 'PUT', `/api/intents/${uid('kept')}`, intentOf(uid('kept'), { description: 'As replaced' }), { 'If-Match': tag }),
      200,
    ),
  );
  await expected.change([[`intent ${uid('removed')}`, null, intentAt(uid('removed'))]], async () =>
    expectStatus(await call(stack, 'DELETE', `/api/intents/${uid('removed')}`), 204),
  );
  await expected.change(
    [
      [`service ${name}`, null, serviceAt(name)],
      [`service ${newName}`, 'Renamed', serviceAt(newName)],
    ],
    async () =>
      expectStatus(await call(stack, 'PUT', at(id), { ...serviceNamed(newName), description: 'Renamed' }, { 'If-Match': etag }), 200),
  );
  const credentialOf = async (one: LocalProcess) => (await call(one, 'GET', at(id))).body.credential?.headers ?? null;
  await expected.change([[`credential ${id}`, ['X-Key'], credentialOf]], async () =>
    expectStatus(await call(stack, 'PUT', at(`${id}/credential`), { headers: { 'X-Key': 'secret' } }), 200),
  );

  const { body: going } = await create(goingName);
  await add(going.service_id, 'going');
  await expected.change(
    [
      [`service ${goingName}`, null, serviceAt(goingName)],
      [`intent ${uid('going')}`, null, intentAt(uid('going'))],
    ],
    async () => expectStatus(await call(stack, 'DELETE', at(going.service_id)), 204),
  );

  const agent = await agentOf(stack, round);
  const { pat } = await expected.change([[`agent ${round}`, 200, agentAt(round)]], () => agent.obtainPat());
  expected.places.set(`PAT ${round}`, { read: async (one) => (await executeWith(one, pat, country)).status, allowed: [200] });
  const key = { 'Idempotency-Key': `once-${round}` };
  const executionOf = async (one: LocalProcess) => (await executeWith(one, pat, country, key)).status;
  await expected.change([[`execution ${round}`, 200, executionOf]], async () => {
    // a call that was cut short cannot be told from one that was not made: the gate says so, for as long as the key is kept
    expected.places.get(`execution ${round}`)?.allowed.push(409, 503);
    return expectStatus(await executeWith(stack, pat, country, key), 200);
  });
  const blockedOf = async (one: LocalProcess) => (await call(one, 'GET', `/api/agents/crash%20${round}`)).body.block?.reason ?? null;
  await expected.change(
    [
      [`block ${round}`, 'seen', blockedOf],
      [`PAT ${round}`, 403, async (one) => (await executeWith(one, pat, country)).status],
      [`execution ${round}`, 403, executionOf],
    ],
    async () => expectStatus(await call(stack, 'PUT', `/api/agents/crash%20${round}/block`, { reason: 'seen' }), 200),
  );
}

/** Nothing of a service that is gone is found or listed, each name is free or held, and the log is whole and tells what stands. */
async function checkRegistry(stack: LocalProcess, round: number): Promise<void> {
  const { body: found } = await call(stack, 'GET', `/api/intents/search?namespace=crash-${round}.example&page_size=100`);
  const { body: page } = await call(stack, 'GET', `/api/services?name=${encodeURIComponent(`Crash ${round}`)}&page_size=100`);
  const services: { service_id: string; service_name: string; intents: number }[] = page.services;
  const named = new Set(services.map(({ service_name }) => service_name));
  const listed: string[] = [];
  for (const { service_id } of services) {
    const { body } = await call(stack, 'GET', `/api/services/${service_id}/intents?page_size=100`);
    listed.push(...body.intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid));
    if (body.pagination.total_results !== body.intents.length) violations.push(`the list of ${service_id} counts wrong`);
  }
  const uids: string[] = found.intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid);
  if (uids.toSorted().join() !== listed.toSorted().join()) violations.push(`found ${uids.join()}, listed ${listed.join()}`);
  for (const { intent_uid, service_name } of found.intents) {
    if (!named.has(service_name)) violations.push(`${intent_uid} is found, ${service_name} is not there`);
  }
  for (const name of [`Crash ${round}`, `Crash ${round} renamed`, `Crash ${round} going`]) {
    const { status, body } = await call(stack, 'POST', '/api/services', serviceNamed(name));
    if (status !== (named.has(name) ? 409 : 201)) violations.push(`the name ${name}: ${status} ${JSON.stringify(body)}`);
    if (status === 201) expectStatus(await call(stack, 'DELETE', `/api/services/${body.service_id}`), 204);
  }
  const { body: log } = await call(stack, 'GET', '/api/changes?page_size=100');
  const chain = openChainCheck(log.head);
  chain.add(log.entries);
  violations.push(...chain.finish().misfits.map(({ seq, problem }) => `entry ${seq} of the log ${problem}`));
  const last = new Map<string, string>();
  for (const { changes } of (log.entries as LogEntry[]).toReversed()) for (const { id, action } of changes) last.set(id, action);
  for (const [id, action] of last) {
    if (action === 'delete' && uids.includes(id)) violations.push(`the log says that ${id} was deleted, and it is found`);
  }
  for (const id of uids) if (!last.has(id)) violations.push(`${id} is found, and the log does not know it`);
}

const startedMs = Date.now();
let stack = await start();
let points = 0;
try {
  await order(stack, 0, 'never');
  await work(stack, 0);
  const writes = await order(stack, 0, 'never');
  await expected.check(stack);
  const all = ['before', 'during', 'after'].flatMap((when) => Array.from({ length: writes }, (_, index) => ({ at: index + 1, when })));
  const wanted = maxPoints || all.length;
  // spread over the whole work, at random within each part
  const chosen = all
    .toSorted((one, other) => one.at - other.at)
    .filter((_, index, sorted) => Math.floor((index * wanted) / sorted.length) !== Math.floor(((index - 1) * wanted) / sorted.length))
    .map((point) => ({ ...point, when: wanted === all.length ? point.when : ['before', 'during', 'after'][Math.floor(random() * 3)] }));
  console.log(`${writes} writes, ${chosen.length} of ${all.length} points`);
  for (const { at, when } of chosen) {
    const round = ++points;
    const gone = once(stack.child, 'exit');
    await order(stack, at, when ?? '');
    const before = violations.length;
    await work(stack, round).catch(() => {});
    if ((await Promise.race([gone, setTimeout(2_000)])) === undefined) {
      // in this round there was a write less
      stack.child.kill('SIGKILL');
      await gone;
    }
    stack = await start();
    // what was refused because the stack went is no violation
    violations.splice(before);
    await expected.check(stack);
    await checkRegistry(stack, round);
    for (const violation of violations.slice(before)) console.log(`${when} write ${at}: ${violation}`);
    if (points % 10 === 0) console.log(`${points} of ${chosen.length} points, ${violations.length} violations`);
    // each was checked after one start and stays in the data; the last ones are checked again at the end
    if (expected.places.size > 60) for (const name of [...expected.places.keys()].slice(0, 20)) expected.places.delete(name);
  }
  stack.child.kill('SIGKILL');
  await once(stack.child, 'exit');
  stack = await start();
  await expected.check(stack);
} finally {
  stack.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
console.log(`killed ${points} times in ${Math.round((Date.now() - startedMs) / 1_000)} s, ${violations.length} violations`);
for (const violation of violations.slice(0, 20)) console.log(violation);
process.exitCode = violations.length > 0 ? 1 : 0;
