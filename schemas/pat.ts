import * as z from 'zod';
import { agentId } from './agent.ts';

/** The media type in a PAT's `typ` header. */
export const patType = 'pat+jwt';

/** The rate limit of a PAT: at most `rate` executions in any `period` seconds. */
export const rateLimit = z.strictObject({ rate: z.int().min(1), period: z.int().min(1) });

export type RateLimit = z.infer<typeof rateLimit>;

export const billing = z.strictObject({
  method: z.enum(['credit_card', 'invoice', 'wallet', 'processor', 'other']),
  id: z.string().min(1),
});

export type Billing = z.infer<typeof billing>;

const numericDate = z.int().min(0);

/** The claims of a PAT (specification section 2.4, and `iat`, `aud`, `cnf` of RFC 7519 and RFC 7800). */
export const patClaims = z
  .strictObject({
    iss: z.string(),
    sub: z.string(),
    aud: z.string(),
    iat: numericDate,
    nbf: numericDate,
    exp: numericDate,
    jti: z.string(),
    /** `<namespace>:<slug>:<version>:execute`, `*` standing for a whole segment */
    scope: z.array(z.string()),
    /** `<policy uid>#sha-256=<digest of the canonical policy>` */
    pol: z.string(),
    /** `jkt`: RFC 7638 thumbprint of the agent's key; `dpop`: a proof of possession is required at every use */
    cnf: z.strictObject({ jkt: z.string() }),
    dpop: z.literal(true).optional(),
    /** generation of the agent's record at issue; revoking gives the record another one */
    gen: z.string(),
    lmt: rateLimit.optional(),
    bil: billing.optional(),
  })
  .meta({ id: 'PatClaims', description: 'The claims of a Policy Adherence Token.' });

export type PatClaims = z.infer<typeof patClaims>;

/** The body of endpoint 5. */
export const patRequest = z
  .strictObject({
    agent_id: agentId,
    signed_policy: z.string().min(1, 'must not be empty'),
    agent_public_key: z.string().min(1, 'must not be empty'),
  })
  .meta({ id: 'PatRequest', description: 'An agent id, its public key, and the policy signed by that key.' });

/** The answer of endpoint 5, for a deployment whose protocol is called `protocol`. */
export const patResponse = (protocol: string) =>
  z.strictObject({ [`${protocol}-pat`]: z.string(), expires_at: z.iso.datetime() }).meta({ id: 'PatResponse' });
