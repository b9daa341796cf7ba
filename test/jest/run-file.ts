import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { createEmptyTestResult, type TestResult } from '@jest/test-result';
import type { Circus, Config, TestResult as Results } from '@jest/types';
import { getState, resetState, run } from 'jest-circus';
import { formatExecError, formatResultsErrors } from 'jest-message-util';
import '../environment.js';

// `@jest/globals` has only types: what it exports comes from Jest's own module system, which is not used here.
const globals = new URL('globals.ts', import.meta.url).href;
registerHooks({
  resolve: (name, context, next) => (name === '@jest/globals' ? { url: globals, shortCircuit: true } : next(name, context)),
});

const toAssertionResult = ({ testPath, status, errors, errorsDetailed, duration = null }: Circus.TestResult): Results.AssertionResult => {
  const titles = testPath.slice(1).map(String);
  return {
    ancestorTitles: titles.slice(0, -1),
    title: titles.at(-1) ?? '',
    fullName: titles.join(' '),
    duration,
    status: status === 'skip' ? 'pending' : status === 'todo' ? 'todo' : errors.length > 0 ? 'failed' : 'passed',
    failureMessages: errors,
    failureDetails: errorsDetailed,
    numPassingAsserts: 0,
  };
};

/** Errors that nothing catches, and attempts to exit, go to `fail`, and not to Jest's listeners, which would end the process. Returns what undoes that. */
function onUncaught(fail: (error: Error) => void) {
  const undo = (['uncaughtException', 'unhandledRejection'] as const).map((event) => {
    const listeners = process.rawListeners(event) as NodeJS.UnhandledRejectionListener[];
    process.removeAllListeners(event).on(event, fail);
    return () => {
      process.removeAllListeners(event);
      for (const listener of listeners) process.on(event, listener);
    };
  });
  const { exit } = process;
  process.exit = (code) => {
    const error = new Error(`process.exit(${code}) was called`);
    fail(error);
    throw error;
  };
  return () => {
    process.exit = exit;
    for (const restore of undo) restore();
  };
}

/**
 * Jest's `testRunner`: runs a test file as Node runs any program. By default, Jest loads every module anew for each file, in a context of its own, which
 * took half of the processor time of all tests. Here the files that a process runs share modules, which keep what they read when they were first
 * imported, but neither mocks nor environment variables.
 */
export default async function runFile(
  global: Config.GlobalConfig,
  config: Config.ProjectConfig,
  _: unknown,
  __: unknown,
  testFilePath: string,
): Promise<TestResult> {
  const { jest, expect } = await import('./globals.ts');
  resetState();
  const state = getState();
  state.testTimeout = config.testTimeout;
  state.testNamePattern = global.testNamePattern ? new RegExp(global.testNamePattern, 'i') : null;
  expect.setState({ testPath: testFilePath, expand: global.expand });
  const variables = { ...process.env };
  const stopCatching = onUncaught((error) => (state.currentlyRunningTest?.errors ?? state.unhandledErrors).push(error));
  try {
    await import(pathToFileURL(testFilePath).href);
    const { testResults: tests, unhandledErrorsDetailed: unhandled } = await run();
    const testResults = tests.map(toAssertionResult);
    const count = (status: Results.AssertionResult['status']) => testResults.filter((test) => test.status === status).length;
    const messages = [
      formatResultsErrors(testResults, config, global, testFilePath),
      ...unhandled.map((error) => formatExecError(error, config, global, testFilePath)),
    ];
    const [testExecError] = unhandled;
    return {
      ...createEmptyTestResult(),
      testFilePath,
      testResults,
      numPassingTests: count('passed'),
      numFailingTests: count('failed'),
      numPendingTests: count('pending'),
      numTodoTests: count('todo'),
      failureMessage: messages.filter(Boolean).join('\n') || null,
      ...(testExecError && { testExecError: { message: testExecError.message, stack: testExecError.stack } }),
    };
  } finally {
    stopCatching();
    jest.restoreAllMocks();
    jest.useRealTimers();
    for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
    Object.assign(process.env, variables);
  }
}
