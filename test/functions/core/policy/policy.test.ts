import { expect, test } from '@jest/globals';
import { loadPolicyTemplate, openPolicy } from '../../../../functions/core/policy/policy.ts';
import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';

test('a policy is another one at every address of the gate', () => {
  const find = openPolicy(loadPolicyTemplate());
  const [one, other] = [find('https://one.example'), find('https://other.example')];
  expect(one.digest).not.toBe(other.digest);
});

test('nobody signs what nobody sees', () => {
  const hidden = { ...loadPolicyTemplate(), uid: '{base_url}/\u001b[8m', profile: 'urn:a\u202eb' };
  const place = (path: string, codePoint: string, at: number) => ({
    path,
    problem: `must not contain the invisible or control character ${codePoint} (character ${at})`,
  });
  expect(() => parsePolicyTemplate(JSON.stringify(hidden))).toThrow(
    new PolicyError([place('/uid', 'U+001B', 12), place('/profile', 'U+202E', 6)]),
  );
});
