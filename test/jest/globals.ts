import { jestExpect as expect } from '@jest/expect';
import { ModernFakeTimers } from '@jest/fake-timers';
import type { Config } from '@jest/types';
import { addEventHandler } from 'jest-circus';
import { ModuleMocker } from 'jest-mock';

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus';
export { expect };

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ global: globalThis, config: { fakeTimers: {} } as Config.ProjectConfig });

/** The only members of Jest's object of this name that exist here: there is no `mock`, no `setTimeout`, and there are no snapshots. */
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  replaceProperty: mocker.replaceProperty.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  useFakeTimers: timers.useFakeTimers.bind(timers),
  useRealTimers: timers.useRealTimers.bind(timers),
  advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
  advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
};

const soon = setImmediate;

// What `expect` noted during a test without throwing counts as its failure, and so does a rejection that a test or hook has left behind.
addEventHandler(async (event) => {
  if (['test_fn_success', 'test_fn_failure', 'hook_success'].includes(event.name)) await new Promise((resolve) => soon(resolve));
  if (event.name === 'test_start') expect.setState({ currentTestName: event.test.name, suppressedErrors: [] });
  if (event.name === 'test_done')
    event.test.errors.push(...expect.getState().suppressedErrors, ...expect.extractExpectedAssertionsErrors().map(({ error }) => error));
});
