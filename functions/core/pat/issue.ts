import type { PatClaims } from '../../../schemas/pat.ts';
import type { Applicants } from '../activity/applicants.ts';
import type { PolicyArchive } from '../activity/policy-archive.ts';
import type { ApiRequest } from '../http/request.ts';
import { limitExceeded, rateLimitHeaders } from '../limit/limit-answers.ts';
import { countCalls } from '../limit/limit-request.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import { log } from '../log.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import { type BindingRules, bindAgent, findAgent } from './bind-agent.ts';
import { newClaims } from './claims.ts';
import { accountOf } from './holder.ts';
import type { SigningKeys } from './signing-keys.ts';
import { signPat } from './token.ts';

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

/** Who gets a PAT, and what has to be done for it in between. */
export interface Applicant<T> {
  request: ApiRequest;
  /** what has been accepted, and is in force */
  policy: CurrentPolicy;
  nowMs: number;
  agentId: string;
  /** of the agent's key, or what stands for a person: see {@link ./holder.ts} */
  thumbprint: string;
  hasProof: boolean;
  /** the client that a person has signed in for; none if the agent has a key */
  clientId?: string;
  /** to whom PATs are counted, in the refusal of one too many */
  countedFor: string;
  /** Refuses what is not to go on, given the agent's generation as it stands. Nothing has been written yet. */
  check?(generation: string | undefined): Promise<unknown>;
  /** Uses up what may be used once. From here on, requests count. */
  useUp?(): Promise<unknown>;
  /** Does what makes the PAT count, now that it is signed, and refuses it if that fails: then nobody gets it. */
  complete?(generation: string): Promise<T>;
}

export interface Issued<T> {
  pat: string;
  claims: PatClaims;
  /** what is left of the limit, for the answer */
  headers: Record<string, string>;
  /** what {@link Applicant.complete} came to */
  completed: T | undefined;
}

/**
 * The one sequence of steps by which PATs are issued, to agents and to people. The caller has verified what was accepted. Nothing is written for
 * a refusal that is known by then; nothing is counted for what has been used up before, and nothing is bound or signed beyond the limit.
 */
export function openIssuer({ agents, archive, limits, signingKeys, settings }: IssuerParts) {
  /**
   * @throws ApiError TOO_MANY_REQUESTS, POLICY_REJECTED if the agent gets no PAT, INVALID_SIGNATURE if a proof is missing, SERVICE_UNAVAILABLE,
   * and what the steps of the applicant throw
   */
  return async function issue<T>({
    request,
    policy,
    nowMs,
    clientId,
    countedFor,
    check,
    useUp,
    complete,
    ...who
  }: Applicant<T>): Promise<Issued<T>> {
    const { agentId, thumbprint, hasProof } = who;
    const message = `Too many PATs have been issued to this ${countedFor}. Use the one you have, or ask again after Retry-After seconds.`;
    const counter = countCalls(accountOf(agentId, thumbprint), 'issue', { rate: settings.issueLimitPerHour, period: 3_600 });
    const known = limits.findRefusal(counter);
    if (known) throw limitExceeded(known, { message });
    const presented = { agentId, thumbprint, hasProof, nowMs };
    const seen = await findAgent(agents, presented, settings);
    await check?.(seen.standing.agent?.generation);

    await useUp?.();
    const decision = await limits.consume(counter);
    if (!decision.isAdmitted) throw limitExceeded(decision, { message });
    const [agent] = await Promise.all([bindAgent(agents, presented, seen, settings), archive.keep(policy.reference, policy.policy)]);

    const grant = { baseUrl: request.baseUrl, agent, policy, hasProof, nowMs, lifeSeconds: settings.patLifeSeconds };
    const claims = newClaims({ ...grant, ...(clientId !== undefined && { clientId }) });
    const pat = await signPat(signingKeys, claims);
    const completed = await complete?.(agent.generation);
    log.info('issued', { request_id: request.requestId, agent_id: claims.sub, thumbprint, jti: claims.jti, policy_digest: policy.digest });
    return { pat, claims, headers: rateLimitHeaders(decision), completed };
  };
}
