import type { PatClaims } from '../../../schemas/pat.ts';
import type { AgentRecords } from '../activity/agent.ts';
import type { ApiRequest } from '../http/request.ts';
import { limitExceeded, rateLimitHeaders } from '../limit/limit-answers.ts';
import { countCalls, type LimitRequest } from '../limit/limit-request.ts';
import { openRateLimiter, type RateLimiter } from '../limit/rate-limiter.ts';
import { type CurrentPolicy, policyFor } from '../policy/policy.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { log } from '../runtime/log.ts';
import type { Table } from '../table/table.ts';
import { type AgentBinder, type IssueCheck, openAgentBinder } from './bind-agent.ts';
import { accountOf } from './holder.ts';
import { openPolicyArchive, type PolicyArchive } from './policy-refusals.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './signing-keys.ts';
import { newClaims, signPat } from './token.ts';

export interface IssuerSettings {
  /** whether a key that uses another key's agent_id is a separate agent, or refused */
  isSharingAllowed: boolean;
  patLifeSeconds: number;
  issueLimitPerHour: number;
}

export interface IssuerParts {
  agents: Pick<AgentBinder, 'find' | 'admit'>;
  archive: Pick<PolicyArchive, 'keep'>;
  limits: Pick<RateLimiter, 'consume' | 'findRefusal'>;
  signingKeys: SigningKeys;
  verifyDomain?: VerifyDomain | undefined;
  settings: IssuerSettings;
}

/**
 * Verifies the domain of an agent.
 * @param directory - the https origin that the agent names
 * @param thumbprint - of the key that the agent has signed with
 * @param beforeRead - counts a read of the directory, or throws to refuse it
 * @returns the domain
 * @throws ApiError if it cannot be verified
 */
export type VerifyDomain = (directory: string, thumbprint: string, baseUrl: string, beforeRead: () => Promise<void>) => Promise<string>;

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
  /** the https origin whose directory lists the agent's key; verified before the agent's records are read */
  directory?: string | undefined;
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
export function openIssuer({ agents, archive, limits, signingKeys, verifyDomain = refuseDirectory, settings }: IssuerParts) {
  /** @throws ApiError TOO_MANY_REQUESTS, POLICY_REJECTED, INVALID_SIGNATURE, SERVICE_UNAVAILABLE, and what the applicant's steps throw */
  return async function issue<T>(applicant: Applicant<T>): Promise<Issued<T>> {
    const { request, policy, nowMs, agentId, thumbprint, hasProof, directory, clientId } = applicant;
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
    const countRead = async () => void (await consume(counterOf('directory')));
    const domain = directory === undefined ? undefined : await verifyDomain(directory, thumbprint, request.baseUrl, countRead);
    const application = { agentId, thumbprint, hasProof, nowMs, domain };
    const found = await agents.find(application, settings.isSharingAllowed);
    await applicant.check?.(found.records);

    await applicant.consumeTokens?.();
    const decision = await consume(counter);
    const [agent] = await Promise.all([agents.admit(application, found, settings.isSharingAllowed), archive.keep(policy)]);

    const { patLifeSeconds: lifeSeconds } = settings;
    const own = policyFor(policy, { account: accountOf(agentId, thumbprint), agentId: agent.agent_id, agentDomain: domain });
    const claims = newClaims({ baseUrl: request.baseUrl, agent, policy: own, hasProof, domain, clientId, nowMs, lifeSeconds });
    const pat = await signPat(signingKeys, claims);
    const completed = await applicant.complete?.(agent.generation);
    log.info('issued', { request_id: request.requestId, agent_id: claims.sub, thumbprint, jti: claims.jti, policy_digest: policy.digest });
    return { pat, claims, headers: rateLimitHeaders(decision), completed };
  };
}

const refuseDirectory: VerifyDomain = () =>
  Promise.reject(
    invalidParameter([{ path: '/agent_directory', problem: 'must be left out: this gate does not verify the domains of agents' }]),
  );

export function issuerPartsFromEnvironment(table: Table, checks: readonly IssueCheck[], verifyDomain?: VerifyDomain): IssuerParts {
  const { patLifeSeconds, issueLimitPerHour, agentIds } = readEnvironment(['patLifeSeconds', 'issueLimitPerHour'], ['agentIds']);
  return {
    agents: openAgentBinder(table, checks),
    archive: openPolicyArchive(table),
    limits: openRateLimiter(table),
    signingKeys: signingKeysFromEnvironment(),
    verifyDomain,
    settings: {
      patLifeSeconds: Number(patLifeSeconds),
      issueLimitPerHour: Number(issueLimitPerHour),
      isSharingAllowed: agentIds === 'shared',
    },
  };
}
