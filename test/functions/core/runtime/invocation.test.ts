import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { beyondInvocation, bounded, currentSignal, withinInvocation } from '../../../../functions/core/runtime/invocation.ts';
import { oneAtATime } from '../../../../functions/core/search/sqlite/index-sync.ts';

const whenAborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason.name)));

test('a step ends when its own time is up', async () => {
  expect(await bounded(10, whenAborted)).toBe('TimeoutError');
});

test('a step ends with the invocation, and none begins after it', async () => {
  const invocation = new AbortController();
  const outcome = withinInvocation(invocation.signal, async () => {
    const first = await bounded(5_000, (signal) => bounded(5_000, () => whenAborted(signal)));
    let hasBegun = false;
    await bounded(5_000, async () => {
      hasBegun = true;
    }).catch(() => {});
    return [first, hasBegun];
  });
  invocation.abort();
  expect(await outcome).toEqual(['AbortError', false]);
});

test('a step that has ended leaves nothing behind', async () => {
  const invocation = new AbortController();
  const signal = await withinInvocation(invocation.signal, () => bounded(10, async (inner) => inner));
  await setTimeout(30);
  invocation.abort();
  expect(signal.aborted).toBe(false);
});

test('invocations that run at once each have their own signal', async () => {
  const signals = [new AbortController().signal, new AbortController().signal];
  const seen = signals.map((signal) => withinInvocation(signal, () => setTimeout(10).then(currentSignal)));
  expect(await Promise.all(seen)).toEqual(signals);
  expect(withinInvocation(AbortSignal.abort(), () => beyondInvocation(currentSignal))).toBeUndefined();
});

test('work that invocations share does not end with the one that began it', async () => {
  const invocation = new AbortController();
  const catchUp = oneAtATime(() => bounded(5_000, () => setTimeout(20, 'caught up')));
  const first = withinInvocation(invocation.signal, catchUp);
  const second = withinInvocation(new AbortController().signal, catchUp);
  invocation.abort();
  expect(await Promise.all([first, second])).toEqual(['caught up', 'caught up']);
});
