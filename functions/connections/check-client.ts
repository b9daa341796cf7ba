import type { Issue } from '../../schemas/errors.ts';
import { foldHeaderName } from '../../schemas/header.ts';
import { pointer } from '../core/json/json.ts';
import type { CredentialCheck } from '../core/relay/credential.ts';
import { checkOrigin, type EgressRules, withOwnHost } from '../core/relay/egress.ts';
import { invalidParameter } from '../core/runtime/api-error.ts';

/** The rules for issuers: private origins are for intents only. */
export const issuerRules = ({ privateOrigins: _, ...rules }: EgressRules): EgressRules => rules;

/** Problems of an issuer's address, as those of `checkOrigin`. */
function checkIssuerAddress(address: string, rules: EgressRules): string[] {
  const { origin } = new URL(address);
  if (rules.privateOrigins?.some((one) => new URL(one).origin === origin)) return ['must not be at a private origin'];
  return checkOrigin(address, issuerRules(rules));
}

/** Requires an issuer that may be called, and beside the client only `headers` and `query` without Authorization. */
export const checkClient: CredentialCheck = ({ oauth, headers = {}, next, header_name }, rules, baseUrl) => {
  if (!oauth) return;
  const isTaken = next ?? header_name ?? Object.keys(headers).find((name) => foldHeaderName(name) === 'authorization');
  const issues = (['issuer', 'authorization_endpoint', 'token_endpoint'] as const).flatMap((name): Issue[] => {
    const { [name]: address } = oauth;
    const problems = address === undefined ? [] : checkIssuerAddress(address, withOwnHost(rules, baseUrl));
    return problems.map((problem) => ({ path: pointer(['oauth', name]), problem }));
  });
  if (isTaken) issues.unshift({ path: '/oauth', problem: 'must not be given with next, header_name or Authorization' });
  if (issues.length > 0) throw invalidParameter(issues);
};
