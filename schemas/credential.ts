import * as z from 'zod';
import { foldHeaderName, headerName, headerValue, namedValues } from './header.ts';

/** Normalises a query parameter's name for comparison: many servers ignore case, and some read spaces and dots as underscores. */
export const foldQueryName = (name: string): string => name.trim().toLowerCase().replace(/[ .]/g, '_');

const queryName = z
  .string()
  .max(100)
  .regex(/^[\x21-\x7e]+$/, 'must be the name of a query parameter in visible ASCII characters')
  .regex(/^[^[\]]*$/, 'must not contain brackets');

const queryValue = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: tools in languages without \p{Cc} read this in the OpenAPI document
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

const maxValues = 5;

const values = {
  headers: namedValues(headerName, headerValue, foldHeaderName).optional().meta({ description: 'values of header fields, by name' }),
  query: namedValues(queryName, queryValue, foldQueryName).optional().meta({ description: 'values of query parameters, by name' }),
};

type Values = { headers?: Record<string, string> | undefined; query?: Record<string, string> | undefined };

const countOf = ({ headers = {}, query = {} }: Values): number => Object.keys(headers).length + Object.keys(query).length;

const address = z.url({ protocol: /^https?$/ }).max(2048);

/** A client of an OAuth issuer (RFC 6749 section 2), whose tokens calls carry. */
const oauthFacts = z.strictObject({
  issuer: address.optional().describe('whose metadata is read (RFC 8414, OpenID Connect Discovery), unless endpoints are given'),
  authorization_endpoint: address.optional().describe('where people agree; with `token_endpoint`, in place of metadata'),
  token_endpoint: address.optional(),
  client_id: queryValue,
  grant: z.enum(['client', 'person']).describe('`client`: one token for all calls; `person`: that of the person for whom the agent acts'),
  scopes: z.array(queryName).max(100).optional(),
  audience: queryValue.optional(),
  resource: address.optional().describe('RFC 8707'),
});

const oauthInput = oauthFacts
  .extend({ client_secret: queryValue.optional().describe('absent for a public client') })
  .refine(({ issuer, token_endpoint }) => issuer ?? token_endpoint, 'must have issuer or token_endpoint')
  .refine(
    ({ grant, token_endpoint, authorization_endpoint }) => grant === 'client' || !token_endpoint === !authorization_endpoint,
    'must have both endpoints or none, because people agree at authorization_endpoint',
  );

export type OAuthClient = z.infer<typeof oauthInput>;

const tooMany = `must have at most ${maxValues} values, headers and query together`;

const nextValues = z
  .strictObject(values)
  .refine((next) => countOf(next) > 0, 'must have headers or query')
  .refine((next) => countOf(next) <= maxValues, tooMany)
  .meta({
    description: 'the next values, for a rotation: if the upstream answers 401 to the current ones, the call is repeated once with these',
  });

/** The body that gives a service a credential: `header_name` and `header_value` are short for `headers` with one field. */
export const credentialInput = z
  .strictObject({
    ...values,
    origins: z.array(z.string().max(2048)).min(1, 'must name an origin').max(10, 'must name at most 10 origins').optional().meta({
      description: 'origins to which the credential is sent, such as https://api.example.com; default: the origin of service_url',
    }),
    next: nextValues.optional(),
    header_name: headerName.optional(),
    header_value: headerValue.optional(),
    oauth: oauthInput.optional().meta({ description: 'the gate obtains tokens as this client, and sends them besides headers and query' }),
  })
  .superRefine((input, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const isSingle = input.header_name !== undefined || input.header_value !== undefined;
    if (isSingle && input.header_name === undefined) refuse(['header_name'], 'is required with header_value');
    if (isSingle && input.header_value === undefined) refuse(['header_value'], 'is required with header_name');
    if (isSingle && (input.headers ?? input.query)) refuse(['header_name'], 'must be left out if headers or query is given');
    if (!isSingle && countOf(input) === 0 && !input.oauth) refuse([], 'must have headers, query or oauth');
    const isTaken = Object.keys(input.headers ?? {}).some((name) => foldHeaderName(name) === 'authorization');
    if (input.oauth && (isSingle || input.next || isTaken)) refuse(['oauth'], 'must not be given with next, header_name or Authorization');
    if (countOf(input) > maxValues) refuse([], tooMany);
  })
  .meta({
    id: 'CredentialInput',
    description: 'The header fields and query parameters sent with calls of a service, and the origins that receive them.',
  });

export type CredentialInput = z.infer<typeof credentialInput>;

const names = {
  headers: z.array(z.string()).describe('names of header fields'),
  query: z.array(z.string()).describe('names of query parameters'),
};

const facts = z.strictObject({
  ...names,
  origins: z.array(z.string()).describe('where it is sent'),
  next: z
    .strictObject(names)
    .optional()
    .describe('names of the next values, which are tried if the upstream answers 401 to the current ones'),
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
