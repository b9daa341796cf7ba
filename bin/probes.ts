import type * as z from 'zod';
import type { Exchange, Http } from '../client/http.ts';
import { obtainNamedKey } from '../client/keys.ts';
import { makePatRequest } from '../client/pats.ts';
import { addressIn } from '../client/policy.ts';
import type { Policy } from '../client/types.ts';
import { readAnswer } from '../registry/api.ts';
import { CliFailure } from '../registry/failure.ts';
import { errorBody } from '../schemas/error-body.ts';

// Shared by the smoke test and the benchmarks.

export const readError = (answer: Exchange): z.output<typeof errorBody>['error'] => readAnswer(errorBody, answer).error;

/** @throws CliFailure describing the response if its status differs */
export function expectStatus(answer: Exchange, status: number): Exchange {
  if (answer.status === status) return answer;
  const { code, message } = answer.status < 400 ? {} : readError(answer);
  const instead = code === undefined ? answer.status : `${answer.status} ${code}: ${message}`;
  throw new CliFailure('failure', `${answer.request} should have been answered ${status}, but was answered ${instead}`);
}

/**
 * A new agent's PAT request for the policy in force, or for `document`. It is signed for the address in the policy, with a new throw-away key, so a gate
 * gains nothing by naming another gate's address.
 */
export async function signPolicy(http: Http, program: string, policy: Policy, document: unknown = policy) {
  const terms = { audience: addressIn(policy, http.url), nowMs: http.now() };
  return makePatRequest(await obtainNamedKey(program), document, terms);
}

/** The unverified claims of a PAT; undefined if it is not a JWT. */
export function parseClaims(pat: string): unknown {
  try {
    return JSON.parse(Buffer.from(pat.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** A PAT with more rights in its claims and the original signature, which no longer matches. */
export function tamper(pat: string): string {
  const [header, , signature] = pat.split('.');
  const claims = { ...(parseClaims(pat) as object), sub: 'somebody-else', lmt: { rate: 1_000_000, period: 1 } };
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
}
