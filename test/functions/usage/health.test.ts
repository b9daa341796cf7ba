import { afterAll, expect, test } from '@jest/globals';
import type { Executed } from '../../../functions/core/activity/history.ts';
import { openRegistry } from '../../../functions/core/registry/registry.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import { openSqliteEngine } from '../../../functions/core/search/sqlite/engine.ts';
import { createAction as createGetIntent } from '../../../functions/get-intent.ts';
import { createAction as createSearch } from '../../../functions/search-intents.ts';
import { createAction as createCount } from '../../../functions/usage/count-usage.ts';
import { openHealth } from '../../../functions/usage/health.ts';
import { openUsage } from '../../../functions/usage/usage.ts';
import { describedDetails, fullIntent, intentUpdate } from '../../../schemas/intent.ts';
import { briefPage, cataloguePage, intentPage } from '../../../schemas/intent-pages.ts';
import { invoke } from '../../support/invoke.ts';
import { intentOf } from '../../support/records.ts';
import { startRegistry } from '../../support/registry.ts';

const registry = await startRegistry();
const { table, findPolicy, intents } = registry;
const engine = openSqliteEngine(openRegistry(table));
afterAll(async () => {
  await engine.close();
  await registry.stop();
});

const minuteMs = 60_000;
const noon = Date.parse('2026-03-01T12:00:00Z');
const since = '2026-02-28T13:00:00.000Z';
let nowMs = noon;
const now = () => nowMs;

const { service_id } = await registry.createService();
const [healthy, failing, other] = ['a.example:send:v1', 'b.example:send:v1', 'c.example:send:v1'];
for (const uid of [failing, healthy, other]) await intents.create(service_id, intentOf(uid, { intent_name: 'Send a letter' }));

const call = (intent_uid: string, agent: number, at: number, more: Partial<Executed> = {}): Executed => ({
  execution_id: newUlid(),
  at,
  agent_id: `agent-${agent}`,
  holder: `key-${agent}`,
  outcome: 'OK',
  service_id,
  intent_uid,
  upstream_host: 'world.example',
  upstream_status: 200,
  upstream_ms: 250,
  ...more,
});

async function count(calls: readonly Executed[]): Promise<void> {
  const usage = openUsage(table, now);
  await usage.keep(calls);
  await createCount({ usage, health: openHealth(table, now), now })({}, () => 300_000);
}

/** Calls of an intent by so many agents in turn, in four minutes of the period. */
const calls = (uid: string, number: number, agents: number, agoMinutes: number, more: Partial<Executed> = {}) =>
  Array.from({ length: number }, (_, at) =>
    call(uid, at % agents, nowMs - Math.ceil(agoMinutes * (1 - Math.floor((at * 4) / number) / 4)) * minuteMs, more),
  );

const healthOf = async (uid: string) => (await openHealth(table, now).read())(uid);

test.each<[string, (uid: string) => Executed[], object | undefined]>([
  ['20 calls of three agents', (uid) => calls(uid, 20, 3, 300), { calls: 20, failures: 0, p95_ms: 300, since }],
  ['19 calls', (uid) => calls(uid, 19, 3, 300), undefined],
  ['100 calls of two agents', (uid) => calls(uid, 100, 2, 300), undefined],
  ['calls by three ids of one key', (uid) => calls(uid, 30, 3, 300, { holder: 'one' }), undefined],
  ['refusals without a call', (uid) => calls(uid, 30, 3, 300, { upstream_host: undefined, outcome: 'FORBIDDEN' }), undefined],
  [
    'two slow and four failed calls',
    (uid) => [
      ...calls(uid, 34, 4, 300),
      ...calls(uid, 2, 2, 200, { upstream_ms: 12_000 }),
      ...calls(uid, 4, 2, 100, { upstream_status: 503, outcome: 'INTENT_EXECUTION_FAILED' }),
    ],
    { calls: 40, failures: 4, p95_ms: 300, since },
  ],
  ['slow calls', (uid) => calls(uid, 20, 3, 300, { upstream_ms: 12_000 }), { calls: 20, failures: 0, since }],
])('the health of an intent is reported from 20 calls of three agents on: %s', async (name, made, health) => {
  const uid = `case.example:${name.replaceAll(' ', '-').toLowerCase()}:v1`;
  await count(made(uid));
  expect((await healthOf(uid))?.health).toEqual(health);
});

const timeout = { upstream_status: undefined, upstream_ms: undefined, outcome: 'GATEWAY_TIMEOUT' } as const;

test.each<[string, (uid: string) => Executed[], boolean]>([
  ['all calls of an hour have failed', (uid) => calls(uid, 20, 3, 55, timeout), true],
  ['one has succeeded', (uid) => [...calls(uid, 20, 3, 55, timeout), call(uid, 1, nowMs - 20 * minuteMs)], false],
  [
    'the first failed a few minutes ago',
    (uid) => [...calls(uid, 20, 3, 600).filter(({ at }) => at < nowMs - 90 * minuteMs), ...calls(uid, 20, 3, 10, timeout)],
    false,
  ],
])('an intent is failing if %s', async (name, made, isFailing) => {
  const uid = `failing.example:${name.replaceAll(' ', '-')}:v1`;
  await count(made(uid));
  expect((await healthOf(uid))?.isFailing).toBe(isFailing);
});

test('searches and intents show the health, and a failing intent comes after its equals', async () => {
  await count([...calls(healthy, 30, 3, 50), ...calls(failing, 30, 3, 55, timeout)]);
  const readHealth = openHealth(table, now).read;
  const shown = { calls: 30, failures: 30, since };
  const search = async (query: Record<string, string>, isReported = true) =>
    (await invoke(createSearch({ engine, findPolicy, ...(isReported && { readHealth }) }), 'GET /api/intents/search', { query })).body;
  const order = (page: { intents: { intent_uid: string }[] }) => page.intents.map(({ intent_uid }) => intent_uid);
  expect(order(await search({ query: 'send a letter' }, false))).toEqual([healthy, failing, other]);
  const page = intentPage.parse(await search({ query: 'send a letter' }));
  expect(order(page)).toEqual([healthy, other, failing]);
  expect(page.intents.map(({ health }) => health)).toEqual([{ calls: 30, failures: 0, p95_ms: 300, since }, undefined, shown]);
  expect(order(await search({ namespace: 'b.example' }))).toEqual([failing]);
  for (const [view, schema] of [
    ['brief', briefPage],
    ['catalogue', cataloguePage],
  ] as const)
    expect(schema.parse(await search({ view, uid: failing })).intents).toMatchObject([{ health: shown }]);

  const get = (query: Record<string, string>, headers = {}) =>
    invoke(createGetIntent({ intents, findPolicy, readHealth }), 'GET /api/intents/{intent_uid}', {
      path: { intent_uid: failing },
      query,
      headers,
    });
  const [details, full] = [await get({}), await get({ view: 'full' })];
  expect([describedDetails.parse(details.body).health, fullIntent.parse(full.body).health]).toEqual([shown, shown]);
  expect(intentUpdate.parse(full.body)).toMatchObject({ intent_uid: failing });
  expect(await get({}, { 'If-None-Match': details.headers.ETag })).toMatchObject({ status: 304 });
});

test('the summary is read at most once a minute, and forgotten when it is no longer written', async () => {
  const { operations } = registry;
  const health = openHealth(table, now);
  const before = operations.length;
  for (let times = 0; times < 3; times++) expect((await health.read())(healthy)).toBeDefined();
  expect(operations.slice(before)).toEqual(['GetItem']);
  nowMs += minuteMs;
  await health.read();
  expect(operations.slice(before)).toEqual(['GetItem', 'GetItem']);
  nowMs += 60 * minuteMs;
  expect((await health.read())(healthy)).toBeUndefined();
});
