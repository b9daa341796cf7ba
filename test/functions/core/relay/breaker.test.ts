import { beforeEach, expect, test } from '@jest/globals';
import { openBreaker } from '../../../../functions/core/relay/breaker.ts';

let nowMs: number;
let breaker: ReturnType<typeof openBreaker>;
beforeEach(() => {
  nowMs = 0;
  breaker = openBreaker(() => nowMs);
});

const fail = (host: string, times: number) => {
  for (let count = 0; count < times; count++) breaker.record(host, false);
};

test('five failures in a row pause calls to a host, and to no other', () => {
  fail('a:443', 4);
  expect(breaker.secondsToWait('a:443', {})).toBe(0);
  fail('a:443', 1);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('b:443', {})]).toEqual([10, 0]);
});

test('after ten seconds one call is let through, and its outcome decides', () => {
  fail('a:443', 5);
  nowMs = 9_001;
  expect(breaker.secondsToWait('a:443', {})).toBe(1);
  nowMs = 10_000;
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 10]);
  breaker.record('a:443', false);
  nowMs = 19_999;
  expect(breaker.secondsToWait('a:443', {})).toBe(1);
  nowMs = 20_000;
  expect(breaker.secondsToWait('a:443', {})).toBe(0);
  breaker.record('a:443', true);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 0]);
});

test('the breaker remembers a bounded number of hosts', () => {
  fail('first:443', 5);
  for (let index = 0; index < 1000; index++) breaker.record(`host${index}:443`, false);
  expect(breaker.secondsToWait('first:443', {})).toBe(0);
});

test('a probe that taught nothing gives its place to the next call; one that is none ends no rest', () => {
  const [earlier, probe] = [{}, {}];
  breaker.secondsToWait('a:443', earlier);
  fail('a:443', 5);
  breaker.release('a:443', earlier);
  expect(breaker.secondsToWait('a:443', {})).toBe(10);
  nowMs += 10_000;
  expect(breaker.secondsToWait('a:443', probe)).toBe(0);
  breaker.release('a:443', earlier);
  expect(breaker.secondsToWait('a:443', {})).toBe(10);
  breaker.release('a:443', probe);
  expect([breaker.secondsToWait('a:443', {}), breaker.secondsToWait('a:443', {})]).toEqual([0, 10]);
});
