import { randomUUID } from 'node:crypto';
import { type PatClaims, patType } from '../../../schemas/pat.ts';
import type { BoundAgent } from '../activity/agent.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Maximum size of a PAT: API Gateway accepts at most 10,240 bytes of headers. */
export const maxPatBytes = 6_144;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The only accepted encoding of a PAT header for this key. */
export const headerSegment = (kid: string): string => encode({ alg: 'ES256', typ: patType, kid });

/**
 * @throws ApiError SERVICE_UNAVAILABLE if KMS does not sign
 * @throws RangeError if the PAT would be too large to be sent back in a header
 */
export async function signPat(signingKeys: SigningKeys, claims: PatClaims): Promise<string> {
  const { kid } = await signingKeys.current();
  const signingInput = `${headerSegment(kid)}.${encode(claims)}`;
  const token = `${signingInput}.${Buffer.from(await signingKeys.sign(signingInput)).toString('base64url')}`;
  if (token.length > maxPatBytes) throw new RangeError('the PAT is larger than 6144 bytes');
  return token;
}

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
