import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openIdempotentCalls } from '../../functions/core/idempotency/idempotent-call.ts';
import { countCalls, openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { loadPolicyTemplate, openPolicy } from '../../functions/core/policy/policy.ts';
import { openAgents } from '../../functions/core/store/agent.ts';
import { openFeedState } from '../../functions/core/store/feed-state.ts';
import { openIntents } from '../../functions/core/store/intents.ts';
import { type Key, partitions, type RecordKind } from '../../functions/core/store/keys.ts';
import { openPolicyArchive } from '../../functions/core/store/policy-archive.ts';
import { openRegistry } from '../../functions/core/store/registry.ts';
import { openServices } from '../../functions/core/store/services.ts';
import { openSignIns } from '../../functions/core/store/sign-ins.ts';
import { openExecutionStats } from '../../functions/core/store/stats.ts';
import type { Item } from '../../functions/core/store/table.ts';
import { openUsedJtis } from '../../functions/core/store/used-jti.ts';
import { bindAgent } from '../support/bind-agent.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startTable, type TestTable } from '../support/table.ts';

/**
 * The records of the last release. A deployment replaces functions one after another, and may be taken back: the code of two releases works on
 * the same records. `RECORD_RELEASE=1 npm test -- test/upgrade` writes the file anew when a version is released.
 */
const file = 'test/upgrade/last-release.json';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const intentUid = 'upgrade.example:lookup:v1';
const limitRequest = countCalls('thumbprint', 'execute', { rate: 5, period: 3_600 });
const keyedCall = { thumbprint: 'thumbprint', agentId: 'agent', key: 'key', executionId: 'execution', fingerprint: 'fingerprint', nowMs };
const { reference, policy } = openPolicy(loadPolicyTemplate())('https://gate.example');

const grant = {
  person: { subject: 'subject', userName: 'user' },
  clientId: 'https://host.example/client.json',
  redirectUri: 'https://host.example/callback',
  codeChallenge: 'challenge',
  resource: 'https://gate.example/mcp',
  policy: reference,
};

/** Writes one record of every kind, as the functions do. */
async function writeEverything({ table }: TestTable): Promise<void> {
  const { service_id } = await openServices(table).create(serviceNamed('Upgraded'));
  await openIntents(table).create(service_id, intentOf(intentUid, { tags: ['kept'], category: 'facts' }));
  await openPolicyArchive(table).keep(reference, policy);
  await (await openFeedState(table, 'https://collection.example', () => nowMs).begin())?.save({ asOfMs: nowMs });
  await bindAgent(table, 'agent', 'thumbprint', nowMs, { hasProof: true });
  await openRateLimiter(table, () => nowMs).consume(limitRequest);
  await openUsedJtis(table).consume('signer', 'jti', nowMs / 1_000);
  const signIns = openSignIns(table);
  await signIns.startSession(grant.person, nowMs);
  await signIns.rememberConsent(grant, nowMs);
  await signIns.keepGrant(grant, nowMs);
  const calls = openIdempotentCalls(table);
  await calls.begin(keyedCall);
  await openExecutionStats(table, () => nowMs).count({ outcome: 'OK', upstream: { status: 200, durationMs: 50 } });
  await calls.finish(keyedCall, { status: 200, headers: {}, body: { kept: true } });
}

async function readAllItems({ client, tableNames }: TestTable): Promise<(Key & Item)[]> {
  const found = await Promise.all(Object.values(tableNames).map((TableName) => client.send(new ScanCommand({ TableName }))));
  return found.flatMap(({ Items = [] }) => Items as (Key & Item)[]);
}

const toJson = (_: string, value: unknown) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value);

const fromJson = (_: string, value: unknown) => {
  const { base64 } = (value ?? {}) as { base64?: unknown };
  return typeof base64 === 'string' ? new Uint8Array(Buffer.from(base64, 'base64')) : value;
};

const kindOf = ({ pk }: Key): RecordKind =>
  (Object.keys(partitions) as RecordKind[]).find((kind) => pk.startsWith(partitions[kind].prefix)) as RecordKind;

/** The names and types of the members of each kind of record. */
const shapesOf = (items: (Key & Item)[]): Record<string, Record<string, string>> =>
  Object.fromEntries(
    items.map((item) => [
      kindOf(item),
      Object.fromEntries(Object.entries(item).map(([name, value]) => [name, Array.isArray(value) ? 'array' : typeof value])),
    ]),
  );

let written: (Key & Item)[];

beforeAll(async () => {
  const store = await startTable();
  try {
    await writeEverything(store);
    written = await readAllItems(store);
  } finally {
    await store.stop();
  }
  if (process.env.RECORD_RELEASE) writeFileSync(file, `${JSON.stringify(written, toJson, 2)}\n`);
});

test('there is a record of every kind to compare with', () => {
  expect(existsSync(file)).toBe(true);
  expect([...new Set(written.map(kindOf))].sort()).toEqual(Object.keys(partitions).sort());
});

describe('records of the last release', () => {
  let released: (Key & Item)[];
  let store: TestTable;

  beforeAll(async () => {
    released = JSON.parse(readFileSync(file, 'utf8'), fromJson);
    store = await startTable();
    for (const item of released) await store.table.put(item);
  });
  afterAll(() => store?.stop());

  test('are read by this one', async () => {
    const { table } = store;
    const found = await openIntents(table).find(intentUid);
    expect(found).toMatchObject({ intent: intentOf(intentUid, { tags: ['kept'] }), service: { service_name: 'Upgraded' } });
    const { service_id } = found?.service ?? { service_id: '' };
    const listed = { intent_uid: intentUid, intent_name: 'Get country', tags: ['kept'], draft: false };
    await expect(openIntents(table).list(service_id, 0, 10)).resolves.toMatchObject({ total: 1, intents: [listed] });
    const parts = await Array.fromAsync(openRegistry(table).readAll());
    expect(parts.flatMap(({ records }) => records.map(({ kind }) => kind)).sort()).toEqual(['intent', 'service']);
    await expect(openPolicyArchive(table).find(reference)).resolves.toEqual(policy);
    await expect(openAgents(table).find('agent')).resolves.toMatchObject({ thumbprint: 'thumbprint', first_seen: nowMs });
    await expect(openUsedJtis(table).consume('signer', 'jti', nowMs / 1_000)).resolves.toBe(false);
    await expect(openIdempotentCalls(table).find(keyedCall)).resolves.toMatchObject({ state: 'replay', outcome: { body: { kept: true } } });
  });

  test('are changed by this one', async () => {
    const { table } = store;
    const renamed = await openIntents(table).replace(intentUid, intentOf(intentUid, { intent_name: 'Renamed' }), () => true);
    const { service_id } = renamed?.service ?? { service_id: '' };
    await expect(openServices(table).replace(service_id, serviceNamed('Renamed'), () => true)).resolves.toBeDefined();
    await expect(openServices(table).create(serviceNamed('Upgraded'))).resolves.toBeDefined();
    await expect(bindAgent(table, 'agent', 'another', nowMs)).resolves.toBeUndefined();
    await expect(openServices(table).remove(service_id, () => true)).resolves.toBe(true);
    await expect(openIntents(table).find(intentUid)).resolves.toBeUndefined();
  });

  test('have no member that this one writes otherwise, or not at all: the last release reads what this one writes', () => {
    const [{ limit: _counter, ...before }, now] = [shapesOf(released), shapesOf(written)];
    // counters stand under other keys than those of version 0.1.0, and are counted anew
    expect(now).toMatchObject(before);
  });
});
