import { expect, test } from '@jest/globals';
import { readCallsLeft } from '../../console/app/calls-left.ts';

test.each([
  ['"execute";r=59;t=66', '"execute";q=60;w=68', '59 of 60'],
  ['"a.example";r=4;t=66, "execute";r=59;t=66', '"execute";q=60;w=68, "a.example";q=5;w=95042', '4 of 5'],
  ['"a.example";r=0', '', '0'],
  ['', '', undefined],
])('the page reads the calls left from the headers %s and %s: %s', (rest, policy, expected) => {
  expect(readCallsLeft(new Headers({ RateLimit: rest, 'RateLimit-Policy': policy }))).toBe(expected);
});
