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

test('a constant that would be rounded is refused, because calls would be judged by another one', () => {
  const text = JSON.stringify({ ...loadPolicyTemplate(), 'x:most': 0 });
  const refused = /\/x:most must be a number that IEEE 754 double precision holds exactly; write it with fewer digits/;
  for (const number of ['9007199254740993', '0.1234567890123456789', '1e-400'])
    expect(() => parsePolicyTemplate(text.replace('"x:most":0', `"x:most":${number}`))).toThrow(refused);
  for (const number of ['9007199254740992', '1.10', '1e3'])
    expect(() => parsePolicyTemplate(text.replace('"x:most":0', `"x:most":${number}`))).not.toThrow(refused);
});
