import { beforeEach, describe, expect, test } from '@jest/globals';
import { digestHolder, listQueue, maxOfPart, type Queue } from '../../../../functions/core/execution/call-queue.ts';
import { type DeferredContent, openDeferredCalls } from '../../../../functions/core/execution/deferred-call-store.ts';
import { voidBecause } from '../../../../functions/core/execution/void-check.ts';
import { newUlid } from '../../../../functions/core/runtime/ulid.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { PatClaims } from '../../../../schemas/pat.ts';
import { type MemoryTable, openMemoryTable } from '../../../world/memory-table.ts';

const dayMs = 24 * 3_600_000;
const startMs = Date.now();
let table: MemoryTable;
let calls: ReturnType<typeof openDeferredCalls>;
beforeEach(() => {
  table = openMemoryTable();
  calls = openDeferredCalls(table);
});

const claimsOf = (key: string, sub = `agent of ${key}`) => ({ sub, cnf: { jkt: key } }) as PatClaims;

/** Asks for a call. @returns its id */
async function ask(key: string, { queue = 'held' as Queue, ageMs = 0, nowMs = Date.now(), sub = undefined as string | undefined } = {}) {
  const executionId = newUlid();
  const request = { account: key, key: executionId, executionId, fingerprint: executionId, nowMs };
  const content = { claims: claimsOf(key, sub), body: { parameters: {} }, ...(queue === 'held' && { shown: {} }) };
  const begun = await calls.begin(request, content as unknown as DeferredContent, nowMs + 3_600_000, startMs - ageMs);
  expect(begun).toEqual({ state: 'started' });
  return executionId;
}

const stateOf = async (id: string) => {
  const call = await calls.find(id);
  return call && calls.stateOf(call, Date.now());
};

const refused = (message: string) => ({
  code: 'TOO_MANY_REQUESTS',
  status: 429,
  message,
  details: { reason: 'waiting_calls', outcome: 'not_sent', retry_after_seconds: 60 },
  headers: { 'Retry-After': '60' },
});

const full = {
  held: refused('Too many calls are waiting for approval. Try again later, or ask the operators of this gate to decide.'),
  callQueue: refused('Too many calls are being made in the background. Try again later, or send this one without Prefer: respond-async.'),
};

test.each<[Queue, string]>([
  [
    'held',
    '20 of your calls are waiting for approval, which is the maximum. Wait until some are decided; reading the state of one whose intent has changed frees its place.',
  ],
  ['callQueue', '20 of your calls are being made in the background, which is the maximum. Wait until some have ended.'],
])('a holder has 20 places in the queue %s, and a call that leaves makes room for another', async (queue, message) => {
  const ids: string[] = [];
  for (let at = 0; at < 20; at++) ids.push(await ask('holder', { queue }));
  await expect(ask('holder', { queue })).rejects.toMatchObject(refused(message));
  await ask('another', { queue });
  const first = await calls.find(ids[7] ?? '');
  if (first) await calls.leave(first);
  await ask('holder', { queue });
  await expect(ask('holder', { queue })).rejects.toMatchObject(refused(message));
});

const partOf = (key: string) => (Buffer.from(digestHolder(claimsOf(key)), 'base64url')[0] ?? 0) % 8;
const keysOfPart = Array.from({ length: 2_000 }, (_, at) => `key ${at}`).filter((key) => partOf(key) === 0);
const [own = '', ...strangers] = keysOfPart;

/** Fills a part of a queue with calls of strangers, who came one after the other, a second apart. @returns the ids by key */
async function fill(holders: number, { queue = 'held' as Queue, ageMs = 0 } = {}) {
  const ids = new Map<string, string[]>();
  for (let at = 0; at < maxOfPart; at++) {
    const key = strangers[at % holders] ?? '';
    ids.set(key, [...(ids.get(key) ?? []), await ask(key, { queue, ageMs: ageMs + (holders - (at % holders)) * 1_000 })]);
  }
  return ids;
}

interface Case {
  name: string;
  holders: number;
  /** age of the strangers, and of the agent that asks */
  theirAgeMs: number;
  ageMs: number;
  /** how many calls the agent can have in the full queue */
  enters: number;
  /** the stranger whose call gives way first: of those with most calls, the one who came last */
  displaced?: number;
}

const cases: Case[] = [
  { name: 'seven new keys with 18 calls each', holders: 7, theirAgeMs: 0, ageMs: 0, enters: 15, displaced: 5 },
  { name: 'seven keys from yesterday with 18 calls each', holders: 7, theirAgeMs: 2 * dayMs, ageMs: 0, enters: 1, displaced: 5 },
  { name: 'seven keys as old as the agent', holders: 7, theirAgeMs: 3 * dayMs, ageMs: 3 * dayMs - 60_000, enters: 15, displaced: 5 },
  { name: 'new keys with one call each, made before the agent', holders: maxOfPart, theirAgeMs: 3_600_000, ageMs: 0, enters: 0 },
  {
    name: 'new keys with one call each, made after the agent',
    holders: maxOfPart,
    theirAgeMs: 0,
    ageMs: dayMs / 2,
    enters: 1,
    displaced: maxOfPart - 1,
  },
  {
    name: 'new keys with one call each, made days after the agent',
    holders: maxOfPart,
    theirAgeMs: 0,
    ageMs: 3 * dayMs,
    enters: 10,
    displaced: maxOfPart - 1,
  },
  { name: 'keys from yesterday with one call each', holders: maxOfPart, theirAgeMs: 2 * dayMs, ageMs: 0, enters: 0 },
];

describe.each<Queue>(['held', 'callQueue'])('the full queue %s', (queue) => {
  test.each(cases)('a queue of $name takes $enters more calls of an agent', async ({ holders, theirAgeMs, ageMs, enters, displaced }) => {
    const ids = await fill(holders, { queue, ageMs: theirAgeMs });
    const entered: string[] = [];
    for (let at = 0; at < 21; at++) {
      const id = await ask(own, { queue, ageMs }).catch((error: unknown) => error);
      if (typeof id !== 'string') {
        expect(id).toMatchObject(full[queue]);
        break;
      }
      entered.push(id);
    }
    expect(entered.length).toBe(enters);
    const waiting = new Set((await listQueue(table, queue, Date.now())).map(({ id }) => id));
    expect(waiting.size).toBe(maxOfPart);
    expect(entered.filter((id) => !waiting.has(id))).toEqual([]);
    // what gave way is void, and was the oldest of its holder
    for (const [key, theirs] of ids) {
      const lost = theirs.filter((id) => !waiting.has(id));
      expect([key, lost]).toEqual([key, theirs.slice(0, lost.length)]);
      for (const id of lost)
        expect(await stateOf(id)).toEqual({
          state: 'expired',
          executionId: id,
          reason: expect.stringMatching(/^This call was displaced by another, .* It is not made\./),
        });
    }
    if (displaced !== undefined) expect(waiting.has(ids.get(strangers[displaced] ?? '')?.[0] ?? '')).toBe(false);
  });

  test('a queue is not full of calls that have expired', async () => {
    const nowMs = Date.now() - dayMs;
    for (let at = 0; at < maxOfPart; at++) await ask(strangers[at] ?? '', { queue, nowMs });
    await ask(own, { queue });
    expect(await listQueue(table, queue, Date.now())).toHaveLength(1);
  });

  test('a full queue leaves a call that has begun its place, and displaces the next one', async () => {
    const ids = await fill(maxOfPart, { queue });
    const begun = await calls.find(ids.get(strangers[maxOfPart - 1] ?? '')?.[0] ?? '');
    const key = keys.call(begun?.account ?? '', begun?.key ?? '');
    await table.update(key, { set: { state: 'running' } });
    await ask(own, { queue, ageMs: 3 * dayMs });
    expect(await table.get(key)).toMatchObject({ state: 'running' });
    const left = await listQueue(table, queue, Date.now());
    expect([left.length, left.some(({ id }) => id === begun?.executionId)]).toEqual([maxOfPart, true]);
  });

  test('a full queue is read with few read units', async () => {
    await fill(maxOfPart, { queue });
    const packed = table.items().find(({ sk }) => sk === 'CALLS')?.calls as Uint8Array;
    // strongly consistent: one unit for each 4 KB
    expect(Math.ceil(packed.length / 4_000)).toBeLessThanOrEqual(2);
  });
});

test.each<[string, { agentId: string; thumbprint?: string }, string[]]>([
  ['its id and key', { agentId: 'agent of key 1', thumbprint: 'key 1' }, ['key 1']],
  ['its key under another id', { agentId: 'other', thumbprint: 'key 2' }, ['key 2', 'key 2 as SHARED']],
  ['an id that several keys share, in another spelling', { agentId: 'Shared' }, ['key 2 as SHARED', 'key 3 as shared~key 3']],
  ['an id that nobody uses', { agentId: 'nobody' }, []],
])('a block of %s makes the waiting calls of exactly these agents void', async (_, agent, voided) => {
  const ids: Record<string, string[]> = {};
  const waiting: [name: string, key: string, sub?: string][] = [
    ['key 1', 'key 1'],
    ['key 2', 'key 2'],
    ['key 2 as SHARED', 'key 2', 'SHARED'],
    ['key 3 as shared~key 3', 'key 3', 'shared~key 3'],
    ['key 4', 'key 4'],
  ];
  for (const [name, key, sub] of waiting)
    ids[name] = [await ask(key, { sub }), await ask(key, { sub }), await ask(key, { sub, queue: 'callQueue' })];
  const change = voidBecause('The agent has been blocked');
  await calls.stop(agent, change, Date.now());
  const left = new Set([...(await listQueue(table, 'held', 0)), ...(await listQueue(table, 'callQueue', 0))].map(({ id }) => id));
  for (const [name, own] of Object.entries(ids)) {
    const isVoid = voided.includes(name);
    expect([name, own.map((id) => left.has(id))]).toEqual([name, own.map(() => !isVoid)]);
    for (const id of own)
      expect((await stateOf(id))?.state).toBe(
        isVoid ? 'expired' : left.has(id) && (await calls.find(id))?.content.shown ? 'waiting' : 'working',
      );
  }
});
