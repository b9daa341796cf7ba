import { randomUUID } from 'node:crypto';
import type { PatClaims } from '../../../schemas/pat.ts';
import type { BoundAgent } from '../activity/agent.ts';
import type { CurrentPolicy } from '../policy/policy.ts';

/** Backdates `nbf` by this much to tolerate clock skew. */
const clockSkewSeconds = 10;

export interface NewPat {
  baseUrl: string;
  agent: BoundAgent;
  policy: CurrentPolicy;
  /** whether every use of the PAT needs a proof of possession */
  hasProof: boolean;
  /** domain that the agent is verified for */
  domain: string | undefined;
  /** the client that a person signed in with; absent for agents with keys */
  clientId: string | undefined;
  nowMs: number;
  lifeSeconds: number;
}

/** Specification section 2.4. */
export function newClaims({ baseUrl, agent, policy, hasProof, domain, clientId, nowMs, lifeSeconds }: NewPat): PatClaims {
  const { scope, lmt, bil } = policy.compiled;
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: baseUrl,
    sub: agent.agent_id,
    aud: baseUrl,
    iat,
    nbf: iat - clockSkewSeconds,
    exp: iat + lifeSeconds,
    jti: randomUUID(),
    scope,
    pol: policy.reference,
    gen: agent.generation,
    ...(clientId === undefined
      ? { cnf: { jkt: agent.thumbprint }, ...(hasProof && { dpop: true as const }), ...(domain !== undefined && { agent_domain: domain }) }
      : { person: agent.thumbprint, client_id: clientId }),
    ...(lmt && { lmt }),
    ...(bil && { bil }),
  };
}
