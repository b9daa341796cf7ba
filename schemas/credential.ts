import * as z from 'zod';

/** Header fields that calls carry anyway, and those that steer the connection itself. */
const reservedHeader =
  /^(accept|accept-encoding|user-agent|x-request-id|execution-id|agent-id|intent-uid|idempotency-key|signature|signature-input|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|(content|proxy)-.*)$/i;

/** The body that gives a service a credential: a header field that every call of its intents carries. */
export const credentialInput = z
  .strictObject({
    header_name: z
      .string()
      .max(100, 'must have at most 100 characters')
      .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header field, for example Authorization')
      .refine((name) => !reservedHeader.test(name), 'must not be a header field that calls carry anyway or that steers the connection'),
    header_value: z
      .string()
      .max(4096, 'must have at most 4096 characters')
      .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, 'must be visible ASCII characters and spaces between them'),
  })
  .meta({ id: 'CredentialInput', description: 'A header field that every call of the intents of a service carries.' });

export type CredentialInput = z.infer<typeof credentialInput>;

/** What setting a credential answers: never its value. */
export const savedCredential = z
  .strictObject({
    service_id: z.string(),
    header_name: z.string(),
    signing_key: z
      .string()
      .describe(
        'base64url of the 32 bytes that calls are signed with from now on (HMAC-SHA-256, RFC 9421); shown this once and never again',
      ),
  })
  .meta({ id: 'SavedCredential' });
