import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

test('each test is reported as it ended, a failure outside of a test fails the file, and a file leaves nothing to the next one', () => {
  const run = spawnSync(
    process.execPath,
    ['node_modules/jest/bin/jest.js', '--json', '--runInBand', '--testMatch', '<rootDir>/test/jest/*.fixture.ts'],
    { encoding: 'utf8' },
  );
  const { success, testResults } = JSON.parse(run.stdout) as {
    success: boolean;
    testResults: { message: string; assertionResults: { title: string; status: string; failureMessages: string[] }[] }[];
  };
  const outcomes = testResults
    .flatMap((file) => file.assertionResults)
    .map(({ title, status, failureMessages: [message = ''] }) => [title, status, message.split('\n')[0]]);
  expect(outcomes).toEqual([
    ['passes', 'passed', ''],
    ['expects something else', 'failed', expect.stringContaining('toBe')],
    ['never ends', 'failed', expect.stringContaining('Exceeded timeout of 50 ms')],
    ['throws text', 'failed', expect.stringContaining('thrown: "text"')],
    ['throws once nothing waits for it', 'failed', 'Error: late'],
    ['leaves a rejection', 'failed', 'Error: unheard'],
    ['leaves a rejection as it ends', 'failed', 'Error: unheard'],
    ['exits', 'failed', 'Error: process.exit(0) was called'],
    ['has too few assertions', 'failed', expect.stringContaining('assertion')],
    ['is skipped', 'pending', ''],
    ['leaves a mock, a clock and a variable', 'passed', ''],
    ['does not pass', 'failed', 'Error: before'],
    ['passes by itself', 'passed', ''],
    ['finds nothing that an earlier file has left', 'passed', ''],
  ]);
  expect(testResults[0]?.message).toContain('after');
  expect(success).toBe(false);
  expect(run.status).toBe(1);
});
