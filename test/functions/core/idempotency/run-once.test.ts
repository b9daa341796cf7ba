import { expect, test } from '@jest/globals';
import { ApiError } from '../../../../functions/core/api-error.ts';
import { ok } from '../../../../functions/core/http/response.ts';
import { openIdempotentCalls } from '../../../../functions/core/idempotency/idempotent-call.ts';
import { runOnce } from '../../../../functions/core/idempotency/run-once.ts';
import { CallFailed } from '../../../../functions/core/relay/call-failure.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const startMs = Date.UTC(2030, 0, 1);
const dayMs = 24 * 3_600 * 1_000;

/** Executes under one key; `act` says what becomes of the calls, one after the other. */
function openRuns(acts: (() => Promise<unknown>)[]) {
  const calls = openIdempotentCalls(openMemoryTable());
  let made = 0;
  const run = (nowMs = startMs, admit = async () => {}) =>
    runOnce(calls, {
      keyed: { thumbprint: 'key', key: 'once', executionId: `execution-${nowMs}-${made}`, fingerprint: 'same', nowMs },
      findRefusal: async () => undefined,
      useProof: async () => {},
      replays: { findRefusal: () => undefined, hasSeen: () => false, see: () => {}, count: () => {} },
      admit,
      act: async () => ok(await acts[made++]?.()),
    });
  return { run, made: () => made };
}

const answers = (text: string) => async () => text;
const fails = (reason: ConstructorParameters<typeof CallFailed>[0]) => () => Promise.reject(new CallFailed(reason));

test('what may have been done is not done again', async () => {
  const { run, made } = openRuns([fails('broken_answer'), answers('a second time')]);
  const outcome = { code: 'INTENT_EXECUTION_FAILED', details: { outcome: 'unknown' } };
  await expect(run()).rejects.toMatchObject(outcome);
  await expect(run()).rejects.toMatchObject(outcome);
  expect(made()).toBe(1);
});

test('what was not sent leaves its key free', async () => {
  const { run, made } = openRuns([fails('unreachable'), answers('done')]);
  await expect(run()).rejects.toMatchObject({ details: { outcome: 'not_sent' } });
  await expect(run()).resolves.toMatchObject({ body: 'done' });
  expect(made()).toBe(2);
});

test('what is refused leaves its key free', async () => {
  const { run, made } = openRuns([answers('done')]);
  const refuse = () => Promise.reject(new ApiError('TOO_MANY_REQUESTS', 'The rate limit is used up.'));
  await expect(run(startMs, refuse)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  await expect(run()).resolves.toMatchObject({ body: 'done' });
  expect(made()).toBe(1);
});

test('a key is free again after a day, though its record is still there', async () => {
  const { run, made } = openRuns([answers('first'), answers('second')]);
  await run();
  await expect(run(startMs + dayMs - 1_000)).resolves.toMatchObject({ body: 'first' });
  await expect(run(startMs + dayMs + 1_000)).resolves.toMatchObject({ body: 'second' });
  expect(made()).toBe(2);
});

test('with too many replays, a new key runs, and one that has a record is read once and refused', async () => {
  const stored = openIdempotentCalls(openMemoryTable());
  const seen = new Set<string>();
  let reads = 0;
  const find: typeof stored.find = (request) => {
    reads++;
    return stored.find(request);
  };
  const run = (key: string) =>
    runOnce(
      { ...stored, find },
      {
        keyed: { thumbprint: 'key', key, executionId: `execution-${key}-${reads}`, fingerprint: 'same', nowMs: startMs },
        findRefusal: async () => undefined,
        useProof: async () => {},
        replays: {
          findRefusal: () => new ApiError('TOO_MANY_REQUESTS', 'Too many replays.'),
          hasSeen: () => seen.has(key),
          see: () => void seen.add(key),
          count: () => {},
        },
        admit: async () => {},
        act: async () => ok('done'),
      },
    );
  for (const key of ['one', 'two']) await expect(run(key)).resolves.toMatchObject({ body: 'done' });
  for (const expected of [3, 3, 3]) {
    await expect(run('one')).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS', message: 'Too many replays.' });
    expect(reads).toBe(expected);
  }
});
