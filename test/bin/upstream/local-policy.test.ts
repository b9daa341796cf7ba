import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readDemo } from '../../../bin/local/upstream/register.ts';
import { compilePolicy } from '../../../functions/core/policy/compile.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../functions/core/policy/template.ts';

const read = (path: string) => parsePolicyTemplate(readFileSync(path, 'utf8'));
const prohibited = 'world.example:export-countries:v1';

test('the local policy is the shipped one and one prohibition', () => {
  const shipped = read('policy.json');
  const prohibition = { target: `{base_url}/api/intents/${prohibited}`, action: 'execute' };
  expect(read('bin/local/policy.json')).toEqual({ ...shipped, prohibition: [...(shipped.prohibition ?? []), prohibition] });
});

test('the local policy prohibits an intent that the demo has', () => {
  const address = 'http://127.0.0.1:8080';
  expect(readDemo(address).flatMap(({ intents }) => intents.map(({ intent_uid }) => intent_uid))).toContain(prohibited);
  const compiled = compilePolicy(fillTemplate(read('bin/local/policy.json'), address), address);
  expect(compiled.prohibited).toEqual([`${prohibited}:execute`]);
});
