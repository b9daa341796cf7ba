import { expect, test } from '@jest/globals';
import { formatTable, summarize } from '../../../tools/bench/load.ts';

test.each([
  [[3], { median: 3, p99: 3 }],
  [[2, 1], { median: 1, p99: 2 }],
  [[9, 1, 5], { median: 5, p99: 9 }],
  [Array.from({ length: 1_000 }, (_, index) => 1_000 - index), { median: 500, p99: 990 }],
])('summarizes by nearest rank', (values, expected) => {
  expect(summarize(Float64Array.from(values))).toEqual(expected);
});

test('sets columns', () => {
  expect(
    formatTable([
      ['', 'ms', 'per second'],
      ['direct', '0.1', '12000'],
      ['gate', '12.5', ''],
    ]),
  ).toBe('           ms   per second\ndirect    0.1        12000\ngate     12.5');
});
