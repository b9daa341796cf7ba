import * as z from 'zod';

export const connectForm = z.object({
  form_token: z.string().max(100).describe('proves that the form belongs to a page shown to this person'),
});

/** The parameters with which an issuer sends a person back (RFC 6749 section 4.1.2, RFC 9207 section 2). */
export const connectCallback = z.object({
  code: z.string().optional(),
  state: z.string().optional(),
  iss: z.string().optional(),
  error: z.string().optional(),
  error_description: z.string().optional(),
});

const failure = z
  .strictObject({
    at: z.iso.datetime(),
    error: z.string().optional().describe("the issuer's code"),
    description: z.string().optional().describe("the issuer's words, or what happened"),
  })
  .describe('the last refusal of a token');

const grant = z.enum(['client', 'person']);

export const connectionList = z
  .strictObject({
    connections: z.array(
      z.strictObject({
        service_id: z.string(),
        service_name: z.string().optional().describe('absent if the service has been deleted'),
        scopes: z.array(z.string()),
        state: z.enum(['connected', 'reconnect']).describe('`reconnect`: the connection no longer works'),
        connected_at: z.iso.datetime(),
        failure: failure.optional(),
        url: z.url().describe('the page at which to connect again'),
      }),
    ),
  })
  .meta({ id: 'ConnectionList' });

export const serviceConnections = z
  .strictObject({
    service_id: z.string(),
    grant,
    people: z.int().min(0).optional().describe('how many are connected'),
    redirect_uri: z.url().optional().describe('to be registered at the issuer'),
    renewed_at: z.iso.datetime().optional().describe("when the gate's own token was issued"),
    renew_at: z.iso.datetime().optional().describe('when it will be renewed'),
    failure: failure.optional(),
  })
  .meta({ id: 'ServiceConnections', description: 'The tokens of a service, without their values.' });

export const credentialTest = z
  .strictObject({
    service_id: z.string(),
    grant,
    ok: z.boolean(),
    error: z.string().optional().describe("the issuer's code"),
    description: z.string().optional().describe("the issuer's words, or what happened"),
    token_endpoint: z.string().optional(),
    authorization_endpoint: z.string().optional(),
    revocation_endpoint: z.string().optional(),
    redirect_uri: z.url().optional().describe('to be registered at the issuer'),
    expires_in: z.number().optional().describe('in seconds'),
    scopes: z.array(z.string()).optional(),
  })
  .meta({ id: 'CredentialTest', description: 'Whether the gate gets tokens with a credential.' });
