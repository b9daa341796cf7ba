import { expect, test } from '@jest/globals';
import { type IdempotentCalls, openIdempotentCalls } from '../../../../functions/core/execution/idempotent-call-store.ts';
import { type Attempted, once } from '../../../../functions/core/execution/once.ts';
import { ok } from '../../../../functions/core/http/response.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const startMs = Date.UTC(2030, 0, 1);

const baseUrl = 'https://gate.example';
const unchecked = { precheck: async () => {}, useProof: async () => {}, replays: undefined };

/** Executes under one key; the attempts say what becomes of the calls, one after the other. */
function openRuns(attempts: Attempted[]) {
  const calls = openIdempotentCalls(openMemoryTable());
  let made = 0;
  const run = (nowMs = startMs) =>
    once(
      calls,
      { baseUrl, keyed: { account: 'key', key: 'once', executionId: `execution-${nowMs}-${made}`, fingerprint: 'same', nowMs } },
      unchecked,
      async () => attempts[made++] as Attempted,
    );
  return { run, made: () => made };
}

const answers = (text: string): Attempted => ({ mayHaveActed: true, result: ok(text) });

test('the outcome is unknown if the gate fails after the call was sent', async () => {
  const { run, made } = openRuns([{ mayHaveActed: true, result: new TypeError('a fault') }, answers('a second time')]);
  await expect(run()).rejects.toThrow('a fault');
  await expect(run(startMs + 61_000)).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'outcome_unknown' } });
  expect(made()).toBe(1);
});

test('with too many replays, a new key runs, and one that has a record is read once and refused', async () => {
  const stored: IdempotentCalls = openIdempotentCalls(openMemoryTable());
  const seen = new Set<string>();
  let reads = 0;
  const find: typeof stored.find = (request) => {
    reads++;
    return stored.find(request);
  };
  const run = (key: string) =>
    once(
      { ...stored, find },
      { baseUrl, keyed: { account: 'key', key, executionId: `execution-${key}-${reads}`, fingerprint: 'same', nowMs: startMs } },
      {
        ...unchecked,
        replays: {
          findRefusal: () => new ApiError('TOO_MANY_REQUESTS', 'Too many replays.'),
          knowsKey: () => seen.has(key),
          rememberKey: () => void seen.add(key),
          count: () => {},
        },
      },
      async () => answers('done'),
    );
  for (const key of ['one', 'two']) await expect(run(key)).resolves.toMatchObject({ body: 'done' });
  for (const expected of [3, 3, 3]) {
    await expect(run('one')).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS', message: 'Too many replays.' });
    expect(reads).toBe(expected);
  }
});
