import { availableParallelism } from 'node:os';
import { isNewEnough, refuseNode } from './bin/check-node.js';

if (!isNewEnough) refuseNode();

/** @type {import('jest').Config} */
export default {
  // Node runs the tests, and strips their types.
  testRunner: './test/jest/run-file.ts',
  transform: {},
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 30_000,
  // Tests often wait for another program or a moment to pass, so that a core has time for more than one of them.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // With any limit, Jest runs tests in processes of their own; in that of a watcher, modules would stay as they were loaded first.
  workerIdleMemoryLimit: '1GB',
};
