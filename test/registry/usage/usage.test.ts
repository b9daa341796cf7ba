import { expect, test } from '@jest/globals';
import { addUp } from '../../../registry/usage/usage.ts';

const numbers = (executions: number, refusals: Record<string, number>, latency: number[]) => ({
  ...{ executions, refusals, latency },
  ...{ upstream_calls: executions, upstream_failures: 1, drift: 0, upstream_ms: 10 * executions },
});

test('sums have the refusals and latencies of all their parts', () => {
  const parts = [numbers(2, { FORBIDDEN: 1 }, [1, 0, 0, 0, 0, 0]), numbers(3, { FORBIDDEN: 1, NOT_FOUND: 1 }, [0, 0, 0, 0, 0, 2])];
  expect(addUp(parts)).toEqual({ ...numbers(5, { FORBIDDEN: 2, NOT_FOUND: 1 }, [1, 0, 0, 0, 0, 2]), upstream_failures: 2 });
});

test('the sum of nothing is zero', () => {
  expect(addUp([])).toEqual({ ...numbers(0, {}, [0, 0, 0, 0, 0, 0]), upstream_failures: 0 });
});
