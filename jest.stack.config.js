import { availableParallelism } from 'node:os';
import config from './jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...config,
  testMatch: ['<rootDir>/test/{bin,browser,client,e2e,lib,openapi,registry,tools}/**/*.check.ts'],
  testTimeout: 120_000,
  verbose: false,
  // These tests often wait for another program, a browser or a moment to pass, so that a core has time for more than one of them.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
};
