import config from './jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...config,
  testMatch: ['<rootDir>/test/{bin,browser,client,e2e,lib,openapi,registry,tools}/**/*.check.ts'],
  testTimeout: 120_000,
  verbose: false,
};
