import * as z from 'zod';

declare module '../features.ts' {
  interface TokenClient extends OAuthClient {}
}

const address = z.url({ protocol: /^https?$/ }).max(2048);

const text = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: tools in languages without \p{Cc} read this in the OpenAPI document
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

/** RFC 6749 section 3.3 */
const scope = z
  .string()
  .max(500)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope: visible ASCII characters except quotation marks and backslashes');

/** A client of an OAuth issuer (RFC 6749 section 2), whose tokens calls carry, as admins see it. */
export const oauthFacts = z.strictObject({
  issuer: address
    .regex(/^[^?#]*$/, 'must have neither a query nor a fragment')
    .optional()
    .describe('whose metadata is read (RFC 8414, OpenID Connect Discovery), unless endpoints are given'),
  authorization_endpoint: address.optional().describe('where people agree; with `token_endpoint`, in place of metadata'),
  token_endpoint: address.optional(),
  client_id: text,
  grant: z.enum(['client', 'person']).describe('`client`: one token for all calls; `person`: that of the person for whom the agent acts'),
  scopes: z.array(z.string()).optional(),
  audience: text.optional(),
  resource: address.optional().describe('RFC 8707'),
});

/** The same with its secret, as admins enter it. */
export const oauthInput = oauthFacts
  .extend({ client_secret: text.optional().describe('absent for a public client'), scopes: z.array(scope).max(100).optional() })
  .refine(({ issuer, token_endpoint }) => issuer ?? token_endpoint, 'must have issuer or token_endpoint')
  .refine(
    ({ grant, token_endpoint, authorization_endpoint }) => grant === 'client' || !token_endpoint === !authorization_endpoint,
    'must have both endpoints or none, because people agree at authorization_endpoint',
  );

export type OAuthClient = z.infer<typeof oauthInput>;
