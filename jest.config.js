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
  maxWorkers: '100%',
  // Modules of finished test files stay in memory.
  workerIdleMemoryLimit: '1GB',
  // To free them takes longer than the half second after which Jest kills a worker.
  workerGracefulExitTimeout: 10_000,
};
