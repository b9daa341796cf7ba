import { expect, test } from '@jest/globals';
import { maxSlow, openInFlight, slowMs } from '../../../../functions/core/relay/in-flight.ts';

const several = Array.from({ length: maxSlow }, (_, index) => index);

test('a host that keeps many calls waiting gets no more, whoever calls it, until one is over; others do', () => {
  let nowMs = 0;
  const inFlight = openInFlight(() => nowMs);
  const leaves = several.map((index) => inFlight.enter('slow:443', `agent ${index}`));
  nowMs = slowMs - 1;
  expect(inFlight.enter('slow:443', 'in time')).toBeDefined();
  nowMs = slowMs;
  expect(inFlight.enter('slow:443', 'late')).toBeUndefined();
  expect(inFlight.enter('fast:443', 'late')).toBeDefined();
  leaves[0]?.();
  expect(inFlight.enter('slow:443', 'late')).toBeDefined();
});

test('an agent that keeps many calls waiting may make no more, whatever it calls, until they are over', () => {
  let nowMs = 0;
  const inFlight = openInFlight(() => nowMs);
  const leaves = several.map((index) => inFlight.enter(`host-${index}:443`, 'busy'));
  nowMs = slowMs;
  expect(inFlight.enter('other:443', 'busy')).toBeUndefined();
  expect(inFlight.enter('other:443', 'idle')).toBeDefined();
  for (const leave of leaves) leave?.();
  expect(inFlight.enter('other:443', 'busy')).toBeDefined();
});

test('a burst of any size is let through while calls are answered in time', () => {
  const inFlight = openInFlight(() => 0);
  const leaves = Array.from({ length: 1_000 }, () => inFlight.enter('fast:443', 'busy'));
  expect(leaves.every((leave) => leave !== undefined)).toBe(true);
});
