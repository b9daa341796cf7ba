import { expect, test } from '@jest/globals';
import { openBreaker } from '../../../../functions/core/relay/breaker.ts';

function breakerAt(startMs: number) {
  const clock = { nowMs: startMs };
  return { clock, breaker: openBreaker(() => clock.nowMs) };
}

const fail = (breaker: ReturnType<typeof openBreaker>, host: string, times: number) => {
  for (let count = 0; count < times; count++) breaker.record(host, false);
};

test('five failures in a row close a host off, and no other', () => {
  const { breaker } = breakerAt(0);
  fail(breaker, 'a:443', 4);
  expect(breaker.secondsToWait('a:443', {})).toBe(0);
  fail(breaker, 'a:443', 1);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('b:443', {})]).toEqual([10, 0]);
});

test('a success in between restarts the count', () => {
  const { breaker } = breakerAt(0);
  fail(breaker, 'a:443', 4);
  breaker.record('a:443', true);
  fail(breaker, 'a:443', 4);
  expect(breaker.secondsToWait('a:443', {})).toBe(0);
});

test('after a while one call is let through, and its outcome decides', () => {
  const { breaker, clock } = breakerAt(0);
  fail(breaker, 'a:443', 5);
  clock.nowMs = 9_001;
  expect(breaker.secondsToWait('a:443', {})).toBe(1);
  clock.nowMs = 10_000;
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 10]);
  breaker.record('a:443', false);
  clock.nowMs = 19_999;
  expect(breaker.secondsToWait('a:443', {})).toBe(1);
  clock.nowMs = 20_000;
  expect(breaker.secondsToWait('a:443', {})).toBe(0);
  breaker.record('a:443', true);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 0]);
});

test('it remembers a bounded number of hosts', () => {
  const { breaker } = breakerAt(0);
  fail(breaker, 'first:443', 5);
  for (let index = 0; index < 1000; index++) breaker.record(`host${index}:443`, false);
  expect(breaker.secondsToWait('first:443', {})).toBe(0);
});

test('a probe that taught nothing gives its place to the next call; one that is none ends no rest', () => {
  let nowMs = 0;
  const breaker = openBreaker(() => nowMs);
  const [earlier, probe] = [{}, {}];
  breaker.secondsToWait('a:443', earlier);
  for (let count = 0; count < 5; count++) breaker.record('a:443', false);
  breaker.release('a:443', earlier);
  expect(breaker.secondsToWait('a:443', {})).toBe(10);
  nowMs += 10_000;
  expect(breaker.secondsToWait('a:443', probe)).toBe(0);
  breaker.release('a:443', earlier);
  expect(breaker.secondsToWait('a:443', {})).toBe(10);
  breaker.release('a:443', probe);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 10]);
});
