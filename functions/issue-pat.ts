import { patRequest } from '../schemas/pat.ts';
import { type Agents, openAgents } from './core/activity/agents.ts';
import { openPolicyArchive, type PolicyArchive } from './core/activity/policy-archive.ts';
import { openUsedJtis, type UsedJtis } from './core/activity/used-jti.ts';
import { invalidParameter } from './core/api-error.ts';
import { readEnvironment } from './core/environment.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { limitExceeded, rateLimitHeaders } from './core/limit/limit-answers.ts';
import { countCalls, openRateLimiter, type RateLimiter } from './core/limit/rate-limiter.ts';
import { log } from './core/log.ts';
import { readAgentKey } from './core/pat/agent-key.ts';
import { type BindingRules, bindAgent, findAgent } from './core/pat/bind-agent.ts';
import { newClaims } from './core/pat/claims.ts';
import { openPolicyRefusals, type PolicyRefusals } from './core/pat/policy-refusals.ts';
import { openProofs, type Proofs } from './core/pat/proof.ts';
import { requireFirstUse, verifySignedPolicy } from './core/pat/signed-policy.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { signPat } from './core/pat/token.ts';
import { type FindPolicy, loadPolicyTemplate, openPolicy, parseBilling } from './core/policy/policy.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Settings extends BindingRules {
  protocol: string;
  patLifeSeconds: number;
  issueLimitPerHour: number;
  isFreshRequired: boolean;
}

export interface Deps {
  findPolicy: FindPolicy;
  agents: Pick<Agents, 'standingOf' | 'bind' | 'ask'>;
  archive: Pick<PolicyArchive, 'keep'>;
  refusals: Pick<PolicyRefusals, 'rejectPolicy'>;
  usedJtis: UsedJtis;
  proofs: Pick<Proofs, 'checkAtIssue'>;
  limits: Pick<RateLimiter, 'consume' | 'findRefusal'>;
  signingKeys: SigningKeys;
  settings: Settings;
}

/**
 * `POST /api/pat/issue` (endpoint 5): a PAT for an agent that signs the policy in force. Nothing is written before the signature has been verified, or for
 * a refusal that is known by then; nothing is counted for a jti that has been used, and nothing is bound or signed beyond the limit.
 */
export const createAction =
  ({ findPolicy, agents, archive, refusals, usedJtis, proofs, limits, signingKeys, settings }: Deps): Action =>
  async (request) => {
    const nowMs = Date.now();
    const { protocol, patLifeSeconds: lifeSeconds, issueLimitPerHour: rate, isFreshRequired } = settings;
    const { agent_id: agentId, signed_policy, agent_public_key } = request.body(patRequest);
    const { baseUrl } = request;
    const policy = findPolicy(baseUrl);

    const key = await readAgentKey(agent_public_key, (problem) => invalidParameter([{ path: '/agent_public_key', problem }]));
    const { thumbprint } = key;
    const signed = verifySignedPolicy(signed_policy, key, policy, { baseUrl, nowMs, agentId, isFreshRequired });
    if (!signed.isCurrent) throw await refusals.rejectPolicy(signed.otherReference, policy, baseUrl);
    const proof = await proofs.checkAtIssue(request, thumbprint, nowMs);
    const counter = countCalls(thumbprint, 'issue', { rate, period: 3_600 });
    const known = limits.findRefusal(counter);
    if (known) throw limitExceeded(known, { message: tooManyIssued });
    const presented = { agentId, thumbprint, nowMs, hasProof: proof !== undefined };
    const seen = await findAgent(agents, presented, settings);

    await requireFirstUse(signed, key, usedJtis);
    await proof?.use();
    const decision = await limits.consume(counter);
    if (!decision.isAdmitted) throw limitExceeded(decision, { message: tooManyIssued });
    const [agent] = await Promise.all([bindAgent(agents, presented, seen, settings), archive.keep(policy.reference, policy.policy)]);

    const claims = newClaims({ baseUrl, agent, policy, hasProof: presented.hasProof, nowMs, lifeSeconds });
    const pat = await signPat(signingKeys, claims);
    log.info('issued', { request_id: request.requestId, agent_id: claims.sub, thumbprint, jti: claims.jti, policy_digest: policy.digest });
    const expiresAt = `${new Date(claims.exp * 1000).toISOString().slice(0, 19)}Z`;
    return ok({ [`${protocol}-pat`]: pat, expires_at: expiresAt }, rateLimitHeaders(decision));
  };

const tooManyIssued = 'Too many PATs have been issued to this key. Use the one you have, or ask again after Retry-After seconds.';

const environment = readEnvironment(
  ['protocol', 'patLifeSeconds', 'issueLimitPerHour'],
  ['billing', 'requireFreshSignature', 'requireProofOfPossession', 'agents', 'agentIds'],
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
      isApprovalRequired: environment.agents === 'approved',
      isSharingAllowed: environment.agentIds === 'shared',
    },
  }),
);
