import { patRequest } from '../schemas/pat.ts';
import { ApiError, invalidParameter } from './core/api-error.ts';
import { readEnvironment } from './core/environment.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { limitExceeded, openRateLimiter, type RateLimiter, rateLimitHeaders } from './core/limit/rate-limiter.ts';
import { type AgentKey, readAgentKey } from './core/pat/agent-key.ts';
import { newClaims } from './core/pat/claims.ts';
import { openPolicyRefusals, type PolicyRefusals } from './core/pat/policy-refusals.ts';
import { openProofs, type Proofs } from './core/pat/proof.ts';
import { invalidSignature } from './core/pat/refusals.ts';
import { type SignedPolicy, verifySignedPolicy } from './core/pat/signed-policy.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { signPat } from './core/pat/token.ts';
import { type CurrentPolicy, type FindPolicy, loadPolicyTemplate, openPolicy, parseBilling } from './core/policy/policy.ts';
import { type AgentItem, type Agents, openAgents } from './core/store/agent.ts';
import { openPolicyArchive, type PolicyArchive } from './core/store/policy-archive.ts';
import { tableFromEnvironment } from './core/store/table.ts';
import { openUsedJtis, type UsedJtis } from './core/store/used-jti.ts';

export interface Settings {
  protocol: string;
  patLifeSeconds: number;
  issueLimitPerHour: number;
  isFreshRequired: boolean;
}

export interface Deps {
  findPolicy: FindPolicy;
  agents: Pick<Agents, 'bind'>;
  archive: Pick<PolicyArchive, 'keep'>;
  refusals: Pick<PolicyRefusals, 'rejectPolicy'>;
  usedJtis: UsedJtis;
  proofs: Pick<Proofs, 'checkAtIssue'>;
  limits: Pick<RateLimiter, 'consume'>;
  signingKeys: SigningKeys;
  settings: Settings;
}

/**
 * `POST /api/pat/issue` (endpoint 5): a PAT for whoever signs the policy in force. Nothing is written before the signature holds, nothing is
 * counted for a jti that has been used, and nothing is bound or signed beyond the limit.
 */
export function createAction({ findPolicy, refusals, proofs, signingKeys, settings, ...deps }: Deps): Action {
  const { protocol, patLifeSeconds, isFreshRequired } = settings;
  const limit = { rate: settings.issueLimitPerHour, period: 3_600 };

  async function consumeSignature({ singleUse }: SignedPolicy, { thumbprint }: AgentKey): Promise<void> {
    if (!singleUse || (await deps.usedJtis.consume(`policy:${thumbprint}`, singleUse.jti, singleUse.expiresAt))) return;
    throw invalidSignature('The jti of the signed policy has been used. Sign the policy again with a new one.');
  }

  async function countIssue({ thumbprint }: AgentKey) {
    const decision = await deps.limits.consume({ thumbprint, name: 'issue', limit });
    if (decision.isAdmitted) return decision;
    throw limitExceeded(
      decision,
      'Too many PATs have been issued to this key. Use the one you have, or ask again after Retry-After seconds.',
    );
  }

  async function bindAgent(
    agentId: string,
    { thumbprint }: AgentKey,
    { reference, policy }: CurrentPolicy,
    nowMs: number,
  ): Promise<AgentItem> {
    const [agent] = await Promise.all([deps.agents.bind(agentId, thumbprint, nowMs), deps.archive.keep(reference, policy)]);
    if (agent) return agent;
    throw new ApiError('POLICY_REJECTED', 'The agent_id belongs to another key. Sign with that key, or choose another agent_id.', {
      details: { reason: 'agent_id_bound' },
    });
  }

  return async (request) => {
    const nowMs = Date.now();
    const { agent_id: agentId, signed_policy, agent_public_key } = request.body(patRequest);
    const { baseUrl } = request;
    const policy = findPolicy(baseUrl);

    const key = await readAgentKey(agent_public_key, (problem) => invalidParameter([{ path: '/agent_public_key', problem }]));
    const signed = verifySignedPolicy(signed_policy, key, policy, { baseUrl, nowMs, isFreshRequired });
    if (!signed.isCurrent) throw await refusals.rejectPolicy(signed.otherReference, policy, baseUrl);
    const hasProof = await proofs.checkAtIssue(request, key.thumbprint, nowMs);
    await consumeSignature(signed, key);
    const decision = await countIssue(key);
    const agent = await bindAgent(agentId, key, policy, nowMs);

    const claims = newClaims({ baseUrl, agent, policy, hasProof, nowMs, lifeSeconds: patLifeSeconds });
    const pat = await signPat(signingKeys, claims);
    return ok({ [`${protocol}-pat`]: pat, expires_at: new Date(claims.exp * 1000).toISOString() }, rateLimitHeaders(decision));
  };
}

const environment = readEnvironment(
  ['protocol', 'patLifeSeconds', 'issueLimitPerHour'],
  ['billing', 'requireFreshSignature', 'requireProofOfPossession'],
);
const table = tableFromEnvironment();
const usedJtis = openUsedJtis(table);
const archive = openPolicyArchive(table);

export const handler = serve(
  createAction({
    findPolicy: openPolicy(loadPolicyTemplate(), parseBilling(environment.billing)),
    agents: openAgents(table),
    archive,
    refusals: openPolicyRefusals(archive),
    usedJtis,
    proofs: openProofs(usedJtis, environment.requireProofOfPossession === 'true'),
    limits: openRateLimiter(table),
    signingKeys: signingKeysFromEnvironment(),
    settings: {
      protocol: environment.protocol,
      patLifeSeconds: Number(environment.patLifeSeconds),
      issueLimitPerHour: Number(environment.issueLimitPerHour),
      isFreshRequired: environment.requireFreshSignature === 'true',
    },
  }),
);
