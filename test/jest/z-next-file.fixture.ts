import { expect, test } from '@jest/globals';

// Runs after outcomes.fixture.ts, in the same process.
test('finds nothing that an earlier file has left', () => {
  expect(process.env.LEFT).toBe(undefined);
  expect('mock' in console.log).toBe(false);
  expect(String(setTimeout)).not.toContain('clock');
});
