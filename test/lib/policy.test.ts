import { expect, test } from '@jest/globals';
import { readPolicy, warnOfPolicy } from '../../lib/policy.ts';
import { parseSettings, SettingsError } from '../../lib/settings.ts';

const settingsFor = (policyFile: string) => ({ ...parseSettings({}), policyFile });

test('synthesis warns of what a policy says without effect, with the sentence', () => {
  expect(warnOfPolicy(settingsFor('samples/policies/all-but-one.json'))).toEqual([
    'Warning: samples/policies/all-but-one.json: /permission/1 allows nothing, because /prohibition/0 prohibits all of it: You may execute the intent payments.example:transfer:v1, at most 5 times a day.',
  ]);
  expect(warnOfPolicy(settingsFor('samples/policies/trial-period.json'))).toEqual([
    expect.stringMatching(/\/permission\/0 allows nothing, because no call meets .* any more: /),
  ]);
  for (const file of ['policy.json', 'bin/local/policy.json']) expect(warnOfPolicy(settingsFor(file))).toEqual([]);
});

test('a policy is read as it is, or refused as a setting', () => {
  expect(JSON.parse(readPolicy(settingsFor('policy.json')))).toMatchObject({ type: 'Set' });
  expect(() => readPolicy(settingsFor('nowhere.json'))).toThrow(SettingsError);
});
