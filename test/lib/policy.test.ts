import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readPolicy, warnOfPolicy } from '../../lib/policy.ts';
import { parseSettings } from '../../lib/settings.ts';
import { makeFolder } from '../support/folder.ts';

const file = join(makeFolder(), 'policy.json');
const settingsFor = (policyFile: string) => ({ ...parseSettings({}), policyFile });

test('synthesis warns of policy rules without effect', () => {
  expect(warnOfPolicy(settingsFor('samples/policies/all-but-one.json'))).toEqual([
    'samples/policies/all-but-one.json: /permission/1 allows nothing, because /prohibition/0 prohibits all of it: You may execute the intent payments.example:transfer:v1, at most 5 times a day.',
  ]);
  expect(warnOfPolicy(settingsFor('samples/policies/trial-period.json'))).toEqual([
    expect.stringMatching(/\/permission\/0 allows nothing, because no call meets .* any more: /),
  ]);
  for (const file of ['policy.json', 'bin/local/policy.json']) expect(warnOfPolicy(settingsFor(file))).toEqual([]);
});

test.each([
  [
    60,
    'second',
    'has a period of 1 s: below 10 s each call takes about 3 writes, and one counter sustains about 1000 writes a second, so about 333 calls',
  ],
  [300_000, 'minute', 'allows 5000 calls a second, but one counter sustains about 1000 writes a second'],
  [60_000, 'minute', undefined],
])('synthesis says whether one counter sustains %d calls a %s', (rate, unit, problem) => {
  const policy = JSON.parse(readFileSync('policy.json', 'utf8'));
  Object.assign(policy.permission[0].constraint[0], { rightOperand: rate, unit: `{base_url}/vocabulary/${unit}` });
  writeFileSync(file, JSON.stringify(policy));
  expect(warnOfPolicy(settingsFor(file))).toEqual(problem ? [`${file}: /permission/0/constraint/0 ${problem}`] : []);
});

test('a policy is read unchanged', () => {
  expect(readPolicy(settingsFor('policy.json'))).toBe(readFileSync('policy.json', 'utf8'));
});

test.each<[string, RegExp]>([
  ['nowhere.json', /nowhere\.json cannot be read$/],
  ['package.json', /^package\.json: the policy cannot be put into effect:\n {2}\//],
  ['README.md', /^README\.md: the policy cannot be put into effect:\n {2}\/ must be JSON/],
])('%s is refused as the policy', (file, message) => {
  const refusal = expect.objectContaining({ name: 'SettingsError', message: expect.stringMatching(message) });
  expect(() => readPolicy(settingsFor(file))).toThrow(refusal);
});
