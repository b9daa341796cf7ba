import { expect, test } from '@jest/globals';
import { findSettings } from '../../../bin/doctor/inspect.ts';

test.each([
  [{ policyFile: 'none.json' }, 'policyFile: none.json cannot be read'],
  [{ policyFile: 'package.json' }, expect.stringMatching(/^package\.json: the policy cannot be put into effect:\n/)],
  [{ stage: 'local', allowLoopback: 'true' }, expect.stringMatching(/^stage: local is for npm start/)],
  [{ policyFile: 'policy.json' }, expect.objectContaining({ policyFile: 'policy.json' })],
])('findSettings reads or refuses the settings %j', (given, expected) => {
  expect(findSettings(given)).toEqual(expected);
});
