import { expect, test } from '@jest/globals';
import { mayJudge } from '../../../../functions/core/execution/void-check.ts';
import type { PatClaims } from '../../../../schemas/pat.ts';

const claims = (aud: string, pol: string, iat: number) => ({ aud, pol, iat }) as PatClaims;
const own = claims('https://a.example', 'new', 100);

test.each<[string, PatClaims, boolean]>([
  ['of the same policy', claims('https://a.example', 'new', 200), true],
  ['of another policy, requested with an earlier PAT', claims('https://a.example', 'old', 99), true],
  ['of another policy, requested with a PAT of the same second', claims('https://a.example', 'old', 100), false],
  ['of another policy, requested with a later PAT', claims('https://a.example', 'newer', 101), false],
  ['requested at another address of the gate', claims('https://b.example', 'old', 1), false],
])('whether a request may decide that a call is void: a call %s', (_, call, expected) => {
  expect(mayJudge(own, call)).toBe(expected);
});
