import { expect, test } from '@jest/globals';
import { loadPolicyTemplate, openPolicy } from '../../../../functions/core/policy/policy.ts';

test('a policy is another one at every address of the gate, and counts as one', () => {
  const find = openPolicy(loadPolicyTemplate());
  const [one, other] = [find('https://one.example'), find('https://other.example')];
  expect(one.digest).not.toBe(other.digest);
  expect(one.templateDigest).toBe(other.templateDigest);
});

test('another policy counts anew', () => {
  const template = loadPolicyTemplate();
  const { templateDigest } = openPolicy({ ...template, uid: 'urn:another' })('https://one.example');
  expect(templateDigest).not.toBe(openPolicy(template)('https://one.example').templateDigest);
});
