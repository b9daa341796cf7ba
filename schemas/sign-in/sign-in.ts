import * as z from 'zod';
import { name } from '../text.ts';

/** Who issues tokens for a resource (RFC 9728 section 2). */
export const protectedResource = z
  .strictObject({
    resource: z.url(),
    resource_name: z.string(),
    authorization_servers: z.array(z.url()),
    bearer_methods_supported: z.array(z.literal('header')),
    resource_documentation: z.url(),
    resource_policy_uri: z.url(),
  })
  .meta({ id: 'ProtectedResource', description: 'How to get a token for a resource (RFC 9728).' });

/** What the gate supports as an authorization server (RFC 8414 section 2, RFC 9207, OAuth Client ID Metadata Document). */
export const authorizationServer = z
  .strictObject({
    issuer: z.url(),
    authorization_endpoint: z.url(),
    token_endpoint: z.url(),
    registration_endpoint: z.url(),
    revocation_endpoint: z.url(),
    revocation_endpoint_auth_methods_supported: z.array(z.literal('none')),
    jwks_uri: z.url(),
    scopes_supported: z.array(z.literal('offline_access')),
    response_types_supported: z.array(z.literal('code')),
    response_modes_supported: z.array(z.literal('query')),
    grant_types_supported: z.array(z.enum(['authorization_code', 'refresh_token'])),
    code_challenge_methods_supported: z.array(z.literal('S256')),
    token_endpoint_auth_methods_supported: z.array(z.literal('none')),
    prompt_values_supported: z.array(z.enum(['none', 'consent'])),
    client_id_metadata_document_supported: z.literal(true),
    authorization_response_iss_parameter_supported: z.literal(true),
    service_documentation: z.url(),
  })
  .meta({ id: 'AuthorizationServer', description: 'The metadata of sign-in (RFC 8414).' });

/** The response of the token endpoint (RFC 6749 section 5.1). */
export const tokenResponse = z
  .strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string(),
    scope: z.string(),
  })
  .meta({ id: 'TokenResponse', description: 'A PAT and a refresh token (RFC 6749 section 5.1).' });

/** A refusal of the token endpoint (RFC 6749 section 5.2). */
export const tokenRefusal = z
  .strictObject({ error: z.string(), error_description: z.string() })
  .meta({ id: 'TokenRefusal', description: 'A refusal (RFC 6749 section 5.2).' });

const text = (maximum: number) => z.string().max(maximum);

/** Maximum length of a client id, in characters: PATs contain it and must fit into a header. */
export const maxClientIdLength = 1_024;

/** The parameters of an authorization request (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2); others are ignored. */
export const authorizationParameters = z.object({
  response_type: text(100).optional().describe('`code`'),
  client_id: text(maxClientIdLength).describe(
    'the https address of a client metadata document, a `client_id` from a registration, or the name of the predefined client',
  ),
  redirect_uri: text(2_048).describe('one of the redirect URIs that the client has registered'),
  code_challenge: text(128).optional().describe('SHA-256 of a code_verifier, in base64url'),
  code_challenge_method: text(20).optional().describe('`S256`'),
  resource: text(2_048).optional().describe('the address of the gate, of its `/mcp` or of its `/mcp/sign-in`; default: the gate'),
  state: text(4_096).optional().describe('returned with the response'),
  prompt: text(100).optional().describe('`none` to renew without asking, if the policy has been accepted and is unchanged'),
});

export const acceptForm = authorizationParameters.extend({
  policy: text(4_096).describe('reference to the policy that the page showed'),
  form_token: text(100).describe('proves that the form belongs to a page shown to this person'),
  decision: z.enum(['accept', 'decline']),
});

/** RFC 6749 section 4.1.3, RFC 7636 section 4.5, RFC 8707 section 2.2. OAuth 2.1 leaves out `redirect_uri`, because PKCE binds the code to its client. */
export const tokenForm = z.object({
  grant_type: z.string().describe('`authorization_code`'),
  code: text(200),
  client_id: text(maxClientIdLength),
  redirect_uri: text(2_048).optional().describe('if given, as in the authorization request'),
  code_verifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/, 'must be 43 to 128 letters, digits or any of - . _ ~'),
  resource: text(2_048).optional().describe('if given, as in the authorization request'),
});

/** RFC 6749 section 6. */
export const refreshForm = z.object({
  grant_type: z.string().describe('`refresh_token`'),
  refresh_token: text(200),
  client_id: text(maxClientIdLength),
  resource: text(2_048).optional().describe('if given, as in the authorization request'),
});

/** RFC 7009 section 2.1. */
export const revocationForm = z.object({ token: text(8_192).describe('a refresh token'), client_id: text(maxClientIdLength) });

/** The name of a self-registered program: shown within quotation marks, which it cannot close. */
export const clientName = name(60).refine((given) => !/["\u00ab\u00bb\u2018-\u201f]/.test(given));

/** A list in a client's metadata that must include a value, if it is given. */
export const including = (wanted: string) =>
  z
    .array(z.string())
    .refine((values) => values.includes(wanted))
    .nullish();

/** The members of a registration that are used (RFC 7591 section 2); others are ignored, as that section demands. */
export const registrationRequest = z
  .object({
    redirect_uris: z.array(z.string().max(200)).min(1).max(5),
    client_name: z
      .string()
      .nullish()
      .transform((given) => (clientName.safeParse(given).success ? clientName.parse(given) : 'a program'))
      .describe('the name of the program'),
    grant_types: including('authorization_code'),
    response_types: including('code'),
  })
  .meta({ id: 'ClientRegistration', description: "The registration of a program on a person's machine (RFC 7591)." });

/** RFC 7591 section 3.2.1. */
export const registrationResponse = z
  .strictObject({
    client_id: z.string(),
    client_name: z.string(),
    redirect_uris: z.array(z.string()),
    grant_types: z.array(z.string()),
    response_types: z.array(z.string()),
    token_endpoint_auth_method: z.literal('none'),
  })
  .meta({ id: 'RegisteredClient', description: 'The registration and its client_id.' });
