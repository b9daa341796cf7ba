import { availableParallelism } from 'node:os';
import { isNewEnough, refuseNode } from './bin/check-node.js';

if (!isNewEnough) refuseNode();

/** @type {import('jest').Config} */
export default {
  testEnvironment: './test/plain-context.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': './test/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  setupFiles: ['<rootDir>/test/environment.js'],
  testTimeout: 30_000,
  // Tests often wait for another program or a moment to pass, so that a core has time for more than one of them.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // Modules of finished test files stay in memory.
  workerIdleMemoryLimit: '1GB',
  // To free them takes longer than the half second after which Jest kills a worker.
  workerGracefulExitTimeout: 10_000,
};
