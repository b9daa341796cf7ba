import { patRequest } from '../schemas/pat.ts';
import { openUsedJtis, type UsedJtis } from './core/activity/used-jti.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { parseWithNulls } from './core/json/json.ts';
import { readAgentKey } from './core/pat/agent-key.ts';
import { type IssuerParts, type IssuerSettings, issuerPartsFromEnvironment, openIssuer } from './core/pat/issue.ts';
import { openPolicyArchive, openPolicyRefusals, type PolicyRefusals } from './core/pat/policy-refusals.ts';
import { openProofs, type Proofs } from './core/pat/proof.ts';
import { requireFirstUse, verifySignedPolicy } from './core/pat/signed-policy.ts';
import type { FindPolicy } from './core/policy/policy.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { invalidParameter } from './core/runtime/api-error.ts';
import { readEnvironment } from './core/runtime/environment.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { issueChecksFromEnvironment, verifyDomainFromEnvironment } from './features.ts';

export interface Settings extends IssuerSettings {
  protocol: string;
  isFreshRequired: boolean;
}

export interface Deps extends IssuerParts {
  findPolicy: FindPolicy;
  refusals: Pick<PolicyRefusals, 'rejectPolicy'>;
  usedJtis: UsedJtis;
  proofs: Pick<Proofs, 'checkAtIssue'>;
  settings: Settings;
}

/** `POST /api/pat/issue`: a PAT for an agent that signs the policy in force. Nothing is written before the signature is verified. */
export const createAction = ({ findPolicy, refusals, usedJtis, proofs, settings, ...parts }: Deps): Action => {
  const issue = openIssuer({ ...parts, settings });

  return async (request) => {
    const nowMs = Date.now();
    const { agent_id: agentId, signed_policy, agent_public_key, agent_directory: directory } = parseWithNulls(patRequest, request.json());
    const { baseUrl } = request;
    const policy = await findPolicy(baseUrl);
    const key = readAgentKey(agent_public_key, (problem) => invalidParameter([{ path: '/agent_public_key', problem }]));
    const { thumbprint } = key;
    const { isFreshRequired, protocol } = settings;
    const signed = verifySignedPolicy(signed_policy, key, policy, { baseUrl, nowMs, agentId, isFreshRequired });
    if (!signed.isCurrent) throw await refusals.rejectPolicy(signed.otherReference, policy);
    const proof = await proofs.checkAtIssue(request, thumbprint, nowMs);
    const { pat, claims, headers } = await issue({
      request,
      policy,
      nowMs,
      agentId,
      thumbprint,
      hasProof: proof !== undefined,
      directory,
      consumeTokens: async () => {
        await requireFirstUse(signed, key, usedJtis);
        await proof?.use();
      },
    });
    return ok({ [`${protocol}-pat`]: pat, expires_at: `${new Date(claims.exp * 1000).toISOString().slice(0, 19)}Z` }, headers);
  };
};

const environment = readEnvironment(['protocol'], ['requireFreshSignature', 'requireProofOfPossession']);
const table = tableFromEnvironment();
const usedJtis = openUsedJtis(table);
const { settings, ...parts } = issuerPartsFromEnvironment(table, issueChecksFromEnvironment(table), verifyDomainFromEnvironment(table));

export const handler = serve(
  createAction({
    ...parts,
    findPolicy: policyFromEnvironment(table),
    refusals: openPolicyRefusals(openPolicyArchive(table)),
    usedJtis,
    proofs: openProofs(usedJtis, environment.requireProofOfPossession === 'true'),
    settings: { ...settings, protocol: environment.protocol, isFreshRequired: environment.requireFreshSignature === 'true' },
  }),
);
