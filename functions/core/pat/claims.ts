import { randomUUID } from 'node:crypto';
import type { PatClaims } from '../../../schemas/pat.ts';
import type { BoundAgent } from '../activity/agent.ts';
import type { CurrentPolicy } from '../policy/policy.ts';

/** A PAT is valid from a little before its issue, because the clocks of two instances differ. */
const clockDifferenceSeconds = 10;

export interface Grant {
  baseUrl: string;
  agent: BoundAgent;
  policy: CurrentPolicy;
  /** whether the PAT was asked for with a proof of possession, and so needs one at every use */
  hasProof: boolean;
  /** the client that a person has signed in for; none if the agent has a key */
  clientId?: string;
  nowMs: number;
  lifeSeconds: number;
}

/** The claims of a new PAT (specification section 2.4): what the policy in force grants, to the agent and its key or person. */
export function newClaims({ baseUrl, agent, policy, hasProof, clientId, nowMs, lifeSeconds }: Grant): PatClaims {
  const { scope, lmt, bil } = policy.grants;
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: baseUrl,
    sub: agent.agent_id,
    aud: baseUrl,
    iat,
    nbf: iat - clockDifferenceSeconds,
    exp: iat + lifeSeconds,
    jti: randomUUID(),
    scope,
    pol: policy.reference,
    gen: agent.generation,
    ...(clientId === undefined
      ? { cnf: { jkt: agent.thumbprint }, ...(hasProof && { dpop: true as const }) }
      : { person: agent.thumbprint, client_id: clientId }),
    ...(lmt && { lmt }),
    ...(bil && { bil }),
  };
}
