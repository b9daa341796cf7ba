import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';

// Not a test of the project: run-file.test.ts compares what is reported of it.
test('passes', () => expect(1).toBe(1));
test('expects something else', () => expect(1).toBe(2));
test('never ends', () => new Promise(() => {}), 50);
test('throws text', () => Promise.reject('text'));
test('throws once nothing waits for it', async () => {
  setTimeout(() => {
    throw new Error('late');
  });
  await wait(20);
});
test('leaves a rejection', async () => {
  void Promise.reject(new Error('unheard'));
  await wait(20);
});
test('leaves a rejection as it ends', () => {
  void Promise.reject(new Error('unheard'));
});
test('exits', () => process.exit(0));
test('has too few assertions', () => expect.assertions(1));
test.skip('is skipped', () => {});
test('leaves a mock, a clock and a variable', () => {
  jest.useFakeTimers();
  jest.spyOn(console, 'log');
  process.env.LEFT = 'left';
});
describe('after a failed beforeAll', () => {
  beforeAll(() => Promise.reject(new Error('before')));
  test('does not pass', () => {});
});
describe('before a failed afterAll', () => {
  afterAll(() => Promise.reject(new Error('after')));
  test('passes by itself', () => {});
});
