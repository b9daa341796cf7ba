import { afterEach, expect, test } from '@jest/globals';
import { describeCause } from '../../../../functions/core/runtime/log.ts';

afterEach(() => {
  delete process.env.LOG_MESSAGES;
});

test('messages of errors, which may quote input, are logged only by a local stack', () => {
  const error = new RangeError('outer', { cause: new TypeError('inner') });
  const frames = expect.arrayContaining([expect.stringMatching(/log\.test\.ts:\d+:\d+/)]);
  expect(describeCause(error)).toEqual({ name: 'RangeError', at: frames, cause: { name: 'TypeError', at: frames } });
  process.env.LOG_MESSAGES = 'true';
  expect(describeCause(error)).toMatchObject({ message: 'outer', cause: { message: 'inner' } });
});
