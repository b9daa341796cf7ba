import type { PatClaims } from '../../../schemas/pat.ts';
import { type Applicants, openApplicants } from '../../agents/applicants.ts';
import type { AgentRecords } from '../activity/agent.ts';
import { openPolicyArchive, type PolicyArchive } from '../activity/policy-archive.ts';
import type { ApiRequest } from '../http/request.ts';
import { limitExceeded, rateLimitHeaders } from '../limit/limit-answers.ts';
import { countCalls, type LimitRequest } from '../limit/limit-request.ts';
import { openRateLimiter, type RateLimiter } from '../limit/rate-limiter.ts';
import { type CurrentPolicy, policyFor } from '../policy/policy.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { log } from '../runtime/log.ts';
import type { Table } from '../table/table.ts';
import { type BindingRules, bindAgent, findAgent } from './bind-agent.ts';
import { accountOf } from './holder.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './signing-keys.ts';
import { newClaims, signPat } from './token.ts';

export interface IssuerSettings extends BindingRules {
  patLifeSeconds: number;
  issueLimitPerHour: number;
}

export interface IssuerParts {
  agents: Applicants;
  archive: Pick<PolicyArchive, 'keep'>;
  limits: Pick<RateLimiter, 'consume' | 'findRefusal'>;
  signingKeys: SigningKeys;
  settings: IssuerSettings;
}

export interface Applicant<T> {
  request: ApiRequest;
  policy: CurrentPolicy;
  nowMs: number;
  agentId: string;
  /** of the agent's key, or of a person: see {@link ./holder.ts} */
  thumbprint: string;
  hasProof: boolean;
  /** the client that a person signed in with; absent for agents with keys */
  clientId?: string;
  /** Verifies the agent's domain, before its records are read. Calls `beforeRead`, which counts the request, before it fetches the directory. */
  verifyDomain?(beforeRead: () => Promise<void>): Promise<string>;
  /** Last check before anything is written. */
  check?(records: AgentRecords): Promise<unknown>;
  /** Consumes single-use tokens. Requests that get this far are counted. */
  consumeTokens?(): Promise<unknown>;
  /** Runs after signing; if it throws, the PAT is not returned. */
  complete?(generation: string): Promise<T>;
}

export interface Issued<T> {
  pat: string;
  claims: PatClaims;
  headers: Record<string, string>;
  completed: T | undefined;
}

/**
 * Issues PATs to agents (`functions/issue-pat.ts`, which MCP invokes) and people (`sign-in/tokens.ts`). The caller has verified that they
 * accepted the policy. Refusals come before writes wherever possible: replays are not counted, and nothing is bound or signed beyond the limit.
 */
export function openIssuer({ agents, archive, limits, signingKeys, settings }: IssuerParts) {
  /** @throws ApiError TOO_MANY_REQUESTS, POLICY_REJECTED, INVALID_SIGNATURE, SERVICE_UNAVAILABLE, and what the applicant's steps throw */
  return async function issue<T>(applicant: Applicant<T>): Promise<Issued<T>> {
    const { request, policy, nowMs, agentId, thumbprint, hasProof, clientId } = applicant;
    const owner = clientId === undefined ? 'key' : 'person and client';
    const message = `Too many PATs have been issued to this ${owner}. Use the one you have, or ask again after Retry-After seconds.`;
    const counterOf = (name: string) =>
      countCalls(accountOf(agentId, thumbprint), name, { rate: settings.issueLimitPerHour, period: 3_600 });
    const consume = async (counter: LimitRequest) => {
      const decision = await limits.consume(counter);
      if (!decision.isWithinLimits) throw limitExceeded(decision, { message });
      return decision;
    };
    const counter = counterOf('issue');
    const known = limits.findRefusal(counter);
    if (known) throw limitExceeded(known, { message });
    const domain = await applicant.verifyDomain?.(async () => void (await consume(counterOf('directory'))));
    const application = { agentId, thumbprint, hasProof, nowMs, domain };
    const seen = await findAgent(agents, application, settings);
    await applicant.check?.(seen.records);

    await applicant.consumeTokens?.();
    const decision = await consume(counter);
    const [agent] = await Promise.all([bindAgent(agents, application, seen, settings), archive.keep(policy.reference, policy.policy)]);

    const { patLifeSeconds: lifeSeconds } = settings;
    const own = policyFor(policy, { account: accountOf(agentId, thumbprint), agentId: agent.agent_id, agentDomain: domain });
    const claims = newClaims({ baseUrl: request.baseUrl, agent, policy: own, hasProof, domain, clientId, nowMs, lifeSeconds });
    const pat = await signPat(signingKeys, claims);
    const completed = await applicant.complete?.(agent.generation);
    log.info('issued', { request_id: request.requestId, agent_id: claims.sub, thumbprint, jti: claims.jti, policy_digest: policy.digest });
    return { pat, claims, headers: rateLimitHeaders(decision), completed };
  };
}

export function issuerPartsFromEnvironment(table: Table): IssuerParts {
  const { patLifeSeconds, issueLimitPerHour, agents, agentIds } = readEnvironment(
    ['patLifeSeconds', 'issueLimitPerHour'],
    ['agents', 'agentIds'],
  );
  return {
    agents: openApplicants(table),
    archive: openPolicyArchive(table),
    limits: openRateLimiter(table),
    signingKeys: signingKeysFromEnvironment(),
    settings: {
      patLifeSeconds: Number(patLifeSeconds),
      issueLimitPerHour: Number(issueLimitPerHour),
      isApprovalRequired: agents === 'approved',
      isSharingAllowed: agentIds === 'shared',
    },
  };
}
