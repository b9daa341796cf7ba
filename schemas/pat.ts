import * as z from 'zod';
import { agentId } from './agent.ts';

/** The media type in a PAT's `typ` header. */
export const patType = 'pat+jwt';

export const rateLimit = z.strictObject({ rate: z.int().min(1), period: z.int().min(1) });

export type RateLimit = z.infer<typeof rateLimit>;

export const billing = z.strictObject({
  method: z.enum(['credit_card', 'invoice', 'wallet', 'processor', 'other']),
  id: z.string().min(1),
});

export type Billing = z.infer<typeof billing>;

const numericDate = z.int().min(0);

/** The claims of every PAT (specification section 2.4, and `iat`, `aud` of RFC 7519). */
const commonClaims = z.strictObject({
  iss: z.string(),
  sub: z.string(),
  aud: z.string(),
  iat: numericDate,
  nbf: numericDate,
  exp: numericDate,
  jti: z.string(),
  /** `<namespace>:<slug>:<version>:execute`, where `*` matches a whole segment */
  scope: z.array(z.string()),
  /** `<policy uid>#sha-256=<digest of the canonical policy>` */
  pol: z.string(),
  /** generation of the agent's record at issue; revoking changes it */
  gen: z.string(),
  lmt: rateLimit.optional(),
  bil: billing.optional(),
});

/** The claims of a PAT that is bound to an agent's key (`cnf` of RFC 7800). */
export const keyPatClaims = commonClaims
  .extend({
    /** `jkt`: RFC 7638 thumbprint of the agent's key; `dpop`: every use requires a proof of possession */
    cnf: z.strictObject({ jkt: z.string() }),
    dpop: z.literal(true).optional(),
    /** the domain whose directory listed the key when the PAT was issued */
    agent_domain: z.string().optional(),
  })
  .meta({ id: 'PatClaims', description: 'The claims of a Policy Adherence Token.' });

/** The claims of a PAT of a person who signed in with a client: `person` and `client_id` in place of `cnf`. */
export const personPatClaims = commonClaims.extend({
  /** identifies the person; cannot be mistaken for a thumbprint */
  person: z.string().regex(/^person\.[A-Za-z0-9_-]{43}$/),
  /** RFC 9068 section 2.2 */
  client_id: z.string(),
});

/** Strict, so that every PAT is of exactly one kind. */
export const patClaims = z.union([keyPatClaims, personPatClaims]);

export type PatClaims = z.infer<typeof patClaims>;

/** The body of `POST /api/pat/issue`. */
export const patRequest = z
  .strictObject({
    agent_id: agentId,
    signed_policy: z.string().min(1, 'must not be empty'),
    agent_public_key: z.string().min(1, 'must not be empty'),
    agent_directory: z
      .string()
      .max(300)
      .refine((text) => /^https?:/.test(text) && URL.parse(text)?.origin === text, 'must be an https origin, such as https://bot.example')
      .optional()
      .meta({
        description:
          'https origin whose /.well-known/http-message-signatures-directory lists the key; the agent is then verified for that domain',
      }),
  })
  .meta({ id: 'PatRequest', description: 'An agent id, its public key, and the policy signed by that key.' });

/** The response of `POST /api/pat/issue`, for a protocol name. */
export const patResponse = (protocol: string) =>
  z.strictObject({ [`${protocol}-pat`]: z.string(), expires_at: z.iso.datetime() }).meta({ id: 'PatResponse' });
