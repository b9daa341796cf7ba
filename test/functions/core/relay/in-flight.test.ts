import { expect, test } from '@jest/globals';
import { maxInFlight, openInFlight } from '../../../../functions/core/relay/in-flight.ts';

test('a host has so many calls waiting at most, whoever calls it, and others have their own', () => {
  const inFlight = openInFlight();
  const leaves = Array.from({ length: maxInFlight.host }, (_, index) => inFlight.enter('slow:443', `agent ${index}`));
  expect(leaves.every((leave) => leave !== undefined)).toBe(true);
  expect(inFlight.enter('slow:443', 'another')).toBeUndefined();
  expect(inFlight.enter('fast:443', 'another')).toBeDefined();
  leaves[0]?.();
  expect(inFlight.enter('slow:443', 'another')).toBeDefined();
  expect(inFlight.enter('slow:443', 'another')).toBeUndefined();
});

test('an agent has so many calls waiting at most, whatever it calls', () => {
  const inFlight = openInFlight();
  const leaves = Array.from({ length: maxInFlight.agent }, (_, index) => inFlight.enter(`host-${index}:443`, 'busy'));
  expect(inFlight.enter('other:443', 'busy')).toBeUndefined();
  expect(inFlight.enter('other:443', 'idle')).toBeDefined();
  for (const leave of leaves) leave?.();
  expect(inFlight.enter('other:443', 'busy')).toBeDefined();
});
