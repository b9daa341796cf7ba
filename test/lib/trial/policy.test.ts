import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readFurtherPolicies } from '../../../lib/policy.ts';
import { parseSettings } from '../../../lib/settings.ts';

const read = (tryPolicyFile: string) => readFurtherPolicies(parseSettings({ tryPolicyFile }));

test('the policy on trial is read unchanged, if there is one', () => {
  expect(read('policy.json')).toEqual({ tryPolicyFile: readFileSync('policy.json', 'utf8') });
  expect(readFurtherPolicies(parseSettings({}))).toEqual({});
});

test.each<[string, RegExp]>([
  ['nowhere.json', /^tryPolicyFile: nowhere\.json cannot be read$/],
  ['package.json', /^package\.json: the policy cannot be put into effect:\n {2}\//],
  ['README.md', /^README\.md: the policy cannot be put into effect:\n {2}\/ must be JSON/],
])('%s is refused as the policy on trial', (file, message) => {
  expect(() => read(file)).toThrow(expect.objectContaining({ name: 'SettingsError', message: expect.stringMatching(message) }));
});
