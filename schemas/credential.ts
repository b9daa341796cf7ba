import * as z from 'zod';

/** Normalises a query parameter's name for comparison: many servers ignore case, and some read spaces and dots as underscores. */
export const foldQueryName = (name: string): string => name.trim().toLowerCase().replace(/[ .]/g, '_');

export const queryName = z
  .string()
  .max(100)
  .regex(/^[\x21-\x7e]+$/, 'must be the name of a query parameter in visible ASCII characters')
  .regex(/^[^[\]]*$/, 'must not contain brackets');

export const queryValue = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: tools in languages without \p{Cc} read this in the OpenAPI document
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

const address = z.url({ protocol: /^https?$/ }).max(2048);

/** A client of an OAuth issuer (RFC 6749 section 2), whose tokens calls carry. */
export const oauthFacts = z.strictObject({
  issuer: address.optional().describe('whose metadata is read (RFC 8414, OpenID Connect Discovery), unless endpoints are given'),
  authorization_endpoint: address.optional().describe('where people agree; with `token_endpoint`, in place of metadata'),
  token_endpoint: address.optional(),
  client_id: queryValue,
  grant: z.enum(['client', 'person']).describe('`client`: one token for all calls; `person`: that of the person for whom the agent acts'),
  scopes: z.array(queryName).max(100).optional(),
  audience: queryValue.optional(),
  resource: address.optional().describe('RFC 8707'),
});

const names = {
  headers: z.array(z.string()).describe('names of header fields'),
  query: z.array(z.string()).describe('names of query parameters'),
};

const facts = z.strictObject({
  ...names,
  origins: z.array(z.string()).describe('where it is sent'),
  next: z.strictObject(names).optional().describe('names of the next values, tried after a 401'),
  oauth: oauthFacts.optional().describe('the client as which tokens are obtained'),
});

/** The parts of a service's credential that admins see: never its values. */
export const credentialFacts = facts
  .extend({
    set_at: z.iso.datetime(),
    set_by: z.string().optional().describe('user name or client id of the admin'),
  })
  .meta({ id: 'CredentialFacts', description: "A service's credential without its values." });

/** The credential in a service's record; its values are in Secrets Manager. */
export interface StoredCredential extends z.infer<typeof facts> {
  /** milliseconds since the epoch */
  set_at: number;
  set_by?: string;
  /** the current version of the secret */
  version: string;
}

export const toCredentialFacts = ({ version: _, set_at, ...credential }: StoredCredential): z.infer<typeof credentialFacts> => ({
  ...credential,
  set_at: new Date(set_at).toISOString(),
});

export const savedCredential = facts
  .extend({
    service_id: z.string(),
    header_name: z.string().optional().describe('if the request named it'),
    warnings: z.array(z.string()).optional().describe('remarks about these values, in sentences'),
  })
  .meta({ id: 'SavedCredential' });
