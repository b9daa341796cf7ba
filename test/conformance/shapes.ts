import * as z from 'zod';
import { intentDetails } from '../../schemas/intent.ts';
import { listedIntent } from '../../schemas/intent-pages.ts';
import { intentUidPattern } from '../../schemas/intent-uid.ts';
import { pagination } from '../../schemas/pagination.ts';
import { parameterSummary } from '../../schemas/parameter.ts';
import { billing, keyPatClaims, rateLimit } from '../../schemas/pat.ts';
import { constraint, duty, obligation, permission, policy, prohibition } from '../../schemas/policy.ts';

// Response formats of the specification. All are open: additional members are allowed.

const uri = z.string().refine((text) => URL.canParse(text), 'must be a URI');

/** Section 7.1. */
export const errorShape = z.looseObject({
  error: z.looseObject({
    code: z.string().min(1),
    message: z.string().min(1),
    details: z.looseObject({}).optional(),
    help_url: uri.optional(),
  }),
});

/** Section 2.7. */
const paginationShape = pagination.loose();

/** Section 2.1. */
const parameterShape = parameterSummary.partial({ required: true }).loose();

const intentUid = z.string().regex(intentUidPattern, 'must have the form <namespace>:<intent-slug>:v<version>');

/** Section 2.2, as in search results and intent details. */
export const intentShape = intentDetails
  .extend({
    intent_uid: intentUid,
    input_parameters: z.array(parameterShape),
    output_parameters: z.array(parameterShape),
    endpoint: uri,
  })
  .partial({ tags: true })
  .loose();

/** Endpoint 1. */
export const searchShape = z.looseObject({ intents: z.array(intentShape), pagination: paginationShape });

/** Endpoint 10. */
export const listShape = z.looseObject({
  intents: z.array(listedIntent.extend({ intent_id: z.string(), intent_uid: intentUid }).partial({ tags: true }).loose()),
  pagination: paginationShape,
});

const constrained = { constraint: z.array(constraint.loose()).optional() };

/** Section 2.3. */
export const policyShape = policy
  .extend({
    permission: z.array(permission.extend({ ...constrained, duty: z.array(duty.loose()).optional() }).loose()).optional(),
    prohibition: z.array(prohibition.extend(constrained).loose()).optional(),
    obligation: z.array(obligation.extend(constrained).loose()).optional(),
  })
  .loose();

/** Section 2.4. */
export const claimsShape = keyPatClaims
  .pick({ iss: true, sub: true, exp: true, nbf: true, jti: true, scope: true })
  .extend({ pol: uri, lmt: rateLimit.loose().optional(), bil: billing.loose().optional() })
  .loose();

/** Endpoint 5. */
export const patShape = (protocol: string) =>
  z.looseObject({
    [`${protocol}-pat`]: z.string().min(1),
    expires_at: z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time' }).optional(),
  });

export const holding = (values: Record<string, unknown>) =>
  z.looseObject(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        z.unknown().refine((given) => JSON.stringify(given) === JSON.stringify(value), `must be ${JSON.stringify(value)}, as sent`),
      ]),
    ),
  );
