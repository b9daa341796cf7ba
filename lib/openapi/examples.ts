import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { apiCatalog } from '../../functions/core/http/self-description.ts';
import { canonicalDigest } from '../../functions/core/policy/canonical.ts';
import { fillTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { thisGate } from '../../schemas/service-description.ts';
import type { EndpointName } from '../endpoints.ts';

/** A request that is answered as shown if these examples are played in order against a gate at {@link exampleBaseUrl}. */
export interface Example {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** left out if the answer has no JSON body */
  answer?: unknown;
}

export const exampleBaseUrl = 'https://intent-gate.example';

const serviceId = '01KD3C0YV2Q6H8S5J4M7N9P1RT';
const intentUid = 'tides.example:next-high-tide:v1';
const agentId = 'travel-planner-7';

const service = {
  service_name: 'Harbour tides',
  service_url: 'https://tides.example',
  description: 'High and low water of harbours',
  service_terms_of_service_url: 'https://tides.example/terms',
};
const renamed = { ...service, description: 'High and low water of harbours, two years ahead' };
const saved = ({ service_name, service_url, description }: typeof service) => ({
  service_id: serviceId,
  service_name,
  service_url,
  description,
});

const intent = {
  intent_uid: intentUid,
  intent_name: 'Next high tide',
  description: 'Tells when the next high tide of a harbour is, and how high',
  input_parameters: [
    { name: 'harbour', type: 'string', required: true, description: 'Name of the harbour', maxLength: 100 },
    { name: 'unit', type: 'string', description: 'Unit of the height', enum: ['m', 'ft'], default: 'm' },
  ],
  output_parameters: [
    { name: 'time', type: 'string', required: true, format: 'date-time' },
    { name: 'height', type: 'number', required: true },
  ],
  endpoint: { url: 'https://tides.example/harbours/{harbour}/next{?unit}', method: 'GET' },
  tags: ['tides', 'harbours'],
};
const revised = { ...intent, tags: ['tides', 'harbours', 'sea'] };
const savedIntent = {
  intent_id: intentUid,
  intent_uid: intentUid,
  intent_name: intent.intent_name,
  description: intent.description,
};
const shown = {
  intent_uid: intentUid,
  service_name: service.service_name,
  intent_name: intent.intent_name,
  description: intent.description,
  input_parameters: [
    { name: 'harbour', type: 'string', required: true, description: 'Name of the harbour' },
    { name: 'unit', type: 'string', required: false, description: 'Unit of the height' },
  ],
  output_parameters: [
    { name: 'time', type: 'string', required: true },
    { name: 'height', type: 'number', required: true },
  ],
  endpoint: 'https://tides.example/harbours/%7Bharbour%7D/next',
  tags: intent.tags,
};

/** An intent of the demo that the local stack registers. */
const currencyIntent = {
  intent_uid: 'world.example:get-currency:v1',
  service_name: 'World facts',
  intent_name: 'Describe a currency',
  description: 'Tells the name, plural, symbols and number of decimal places of a currency, such as ¥ and none for the Japanese yen.',
  input_parameters: [
    {
      name: 'code',
      type: 'string',
      required: true,
      description: 'ISO 4217 code of the currency in three capital letters, for example CHF',
    },
    {
      name: 'in_language',
      type: 'string',
      required: false,
      description: 'Language of the answer, as a language tag such as en, de-CH or ja',
    },
  ],
  output_parameters: [
    { name: 'code', type: 'string', required: true, description: 'ISO 4217 code' },
    { name: 'name', type: 'string', required: true, description: 'Name of the currency' },
    { name: 'plural_name', type: 'string', required: true, description: 'What several units are called' },
    { name: 'symbol', type: 'string', required: true, description: 'Symbol that no other currency shares in that language' },
    { name: 'short_symbol', type: 'string', required: true, description: 'Shortest symbol' },
    { name: 'decimal_places', type: 'integer', required: true, description: 'Digits after the decimal point' },
  ],
  endpoint: 'https://world.example/currencies/%7Bcode%7D',
  tags: ['currency', 'money', 'symbols'],
};
const currency = { ...currencyIntent, digest: digestIntent(currencyIntent) };

const thumbprintedAgent = {
  agent_id: agentId,
  state: 'active' as const,
  key_thumbprint: '--6IM5l0OosLj9yWskISYhUA3n_3CURQkmrYMSha_ck',
  first_seen: '2027-03-01T09:30:00.000Z',
  last_issue: '2027-03-01T09:30:00.000Z',
};

const digestOf = (content: unknown): string => `sha-256=${canonicalDigest(content)}`;

/** Nobody's key: its private half is 32 times the number 7. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
});

/** The policy's text, signed as a detached JWS (RFC 7515 appendix F). */
function signDetached(text: string): string {
  const header = Buffer.from('{"alg":"EdDSA"}').toString('base64url');
  const signature = sign(null, Buffer.from(`${header}.${Buffer.from(text).toString('base64url')}`), privateKey);
  return `${header}..${signature.toString('base64url')}`;
}

const publicKeyPem = [
  '-----BEGIN PUBLIC KEY-----',
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt',
  '6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==',
  '-----END PUBLIC KEY-----',
  '',
].join('\n');

const published = (protocol: string) => ({
  [`${protocol}-public-key`]: publicKeyPem,
  [`${protocol}-policy-file`]: `${exampleBaseUrl}/api/policy`,
  [`${protocol}-api-discovery`]: `${exampleBaseUrl}/api/intents/search`,
  [`${protocol}-api-execute`]: `${exampleBaseUrl}/api/intents/execute`,
});

/** For an endpoint whose answer is a document or page of its own, or a message of another protocol. */
export const noExample: Example = {};

/**
 * An example of each endpoint, in an order in which each finds what the earlier ones have left.
 * @param policyText - the deployment's policy file
 */
/** What is counted of one execution. */
const counted = {
  executions: 1,
  refusals: {},
  upstream_calls: 1,
  upstream_failures: 0,
  drift: 0,
  upstream_ms: 85,
  latency: [1, 0, 0, 0, 0, 0],
};

export function listExamples(protocol: string, policyText: string): Record<EndpointName, Example> {
  const policy = fillTemplate(parsePolicyTemplate(policyText), exampleBaseUrl);
  return {
    'get-policy': { answer: policy },
    'issue-pat': {
      body: {
        agent_id: agentId,
        signed_policy: signDetached(JSON.stringify(policy)),
        agent_public_key: JSON.stringify(createPublicKey(privateKey).export({ format: 'jwk' })),
      },
      answer: { [`${protocol}-pat`]: 'eyJhbGciOiJFUzI1NiIsInR5cCI6InBhdCtqd3QifQ.e30.c2ln', expires_at: '2027-03-01T10:30:00.000Z' },
    },
    'search-intents': {
      query: { query: 'what is the symbol of the Swiss franc', page_size: '1' },
      answer: { intents: [currency], pagination: { total_results: 6, total_pages: 6, current_page: 1, page_size: 1 } },
    },
    'get-intent': { path: { intent_uid: currency.intent_uid }, answer: currency },
    'execute-intent': {
      body: { intent_uid: currency.intent_uid, parameters: { code: 'CHF' } },
      answer: {
        code: 'CHF',
        name: 'Swiss Franc',
        plural_name: 'Swiss francs',
        symbol: 'CHF',
        short_symbol: 'CHF',
        decimal_places: 2,
      },
    },
    'list-agents': { query: { page_size: '1' }, answer: { agents: [thumbprintedAgent] } },
    'get-agent': {
      path: { agent_id: agentId },
      answer: {
        ...thumbprintedAgent,
        usage: [{ limit: 'execute', rule: '/permission/0/constraint/0', of: 60, used: 1, left: 59, period: 60 }],
      },
    },
    'approve-agent': {
      path: { agent_id: agentId },
      body: { key_thumbprint: thumbprintedAgent.key_thumbprint },
      answer: thumbprintedAgent,
    },
    'block-agent': {
      path: { agent_id: agentId },
      body: { reason: 'Asks for the same thing a thousand times an hour' },
      answer: {
        ...thumbprintedAgent,
        state: 'blocked' as const,
        block: { reason: 'Asks for the same thing a thousand times an hour', blocked_at: '2027-03-01T11:00:00.000Z' },
      },
    },
    'clear-waiting-agents': { query: { state: 'pending' } },
    'unblock-agent': { path: { agent_id: agentId } },
    'revoke-agent': {
      path: { agent_id: agentId },
      answer: { ...thumbprintedAgent, revoked_at: '2027-03-01T11:00:00.000Z' },
    },
    'delete-agent': { path: { agent_id: agentId } },
    'create-service': { body: service, answer: saved(service) },
    'get-service': { path: { service_id: serviceId }, answer: { service_id: serviceId, ...service } },
    'list-services': {
      query: { name: 'tides' },
      answer: { services: [{ ...saved(service), intents: 0 }], pagination: { current_page: 1, page_size: 10 } },
    },
    'update-service': { path: { service_id: serviceId }, body: renamed, answer: saved(renamed) },
    'put-service-credential': {
      path: { service_id: serviceId },
      body: { headers: { 'X-Api-Key': 'k-29f81c7a' }, query: { tenant: 'harbour-4711' } },
      answer: {
        service_id: serviceId,
        headers: ['X-Api-Key'],
        query: ['tenant'],
        origins: ['https://tides.example'],
        signing_key: 'q0h3GmO5i3b9yqv0bYl1fM2mZ9w1lq7t6y8u4e2r0sA',
      },
    },
    'delete-service-credential': { path: { service_id: serviceId } },
    'create-intent': { path: { service_id: serviceId }, body: intent, answer: savedIntent },
    'list-service-intents': {
      path: { service_id: serviceId },
      answer: {
        intents: [{ ...savedIntent, tags: intent.tags }],
        pagination: { total_results: 1, total_pages: 1, current_page: 1, page_size: 10 },
      },
    },
    'get-service-description': {
      path: { service_id: serviceId },
      answer: {
        'service-info': {
          name: renamed.service_name,
          description: renamed.description,
          service_url: renamed.service_url,
          service_terms_of_service_url: renamed.service_terms_of_service_url,
        },
        intents: [{ ...shown, digest: digestIntent(shown) }],
        ...published(protocol),
      },
    },
    'update-intent': { path: { intent_uid: intentUid }, body: revised, answer: savedIntent },
    'list-changes': {
      query: { page_size: '1' },
      answer: {
        entries: [
          {
            seq: 1712,
            at: '2027-03-01T11:05:00.000Z',
            actor: { subject: 'd2c5f4a4-6091-70c2-8d1f-3a5b9e7c1f20', user_name: 'admin' },
            request_id: '2f6c1f0e-8d0b-4f5e-9a57-6c1f8a2b7d3e',
            changes: [
              {
                kind: 'intent',
                id: intentUid,
                action: 'update',
                digest_before: digestOf({ ...intent, endpoint: { ...intent.endpoint, content_type: 'application/json' } }),
                digest_after: digestOf({ ...revised, endpoint: { ...revised.endpoint, content_type: 'application/json' } }),
              },
            ],
            previous: 'sha-256=4Uq1ZzPmN0s8o7b1w1c3dYQeQm8i7Zc0n8m1p2q3r4s',
          },
        ],
        head: { seq: 1712, digest: 'sha-256=Zk0yV1m2b8d3c5e7f9a1q2w3e4r5t6y7u8i9o0p1a2s' },
      },
    },
    'change-intents': {
      path: { service_id: serviceId },
      body: { create: [intent] },
      answer: { seq: 1713, intents: [{ intent_uid: intentUid, digest: digestIntent(intent) }] },
    },
    'get-stats': {
      query: { period: 'day' },
      answer: {
        period: 'day',
        from: '2027-02-28T12:00:00.000Z',
        services: [
          {
            service_id: serviceId,
            service_name: currency.service_name,
            ...counted,
            slots: [{ from: '2027-03-01T11:00:00.000Z', ...counted }],
          },
        ],
      },
    },
    'delete-intent': { path: { intent_uid: intentUid } },
    'delete-service': { path: { service_id: serviceId } },
    'get-own-description': {
      answer: {
        'service-info': {
          name: thisGate.service_name,
          description: thisGate.description,
          service_url: exampleBaseUrl,
        },
        intents: [currency],
        ...published(protocol),
        [`${protocol}-pat-issue`]: `${exampleBaseUrl}/api/pat/issue`,
        'service-desc': `${exampleBaseUrl}/openapi.json`,
        mcp: `${exampleBaseUrl}/mcp`,
        'mcp-sign-in': `${exampleBaseUrl}/mcp/sign-in`,
      },
    },
    'get-jwks': {
      answer: {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
            y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
            kid: 'xx0BcA-wMohw8atYDJOe6peGModklG2wRHBlXHMvl0M',
            alg: 'ES256',
            use: 'sig',
          },
        ],
      },
    },
    'get-health': { answer: { status: 'ok' } },
    'get-protected-resource': {
      answer: {
        resource: `${exampleBaseUrl}/mcp/sign-in`,
        resource_name: 'Intent Gate',
        authorization_servers: [`${exampleBaseUrl}/oauth`],
        bearer_methods_supported: ['header'],
        resource_documentation: `${exampleBaseUrl}/docs`,
        resource_policy_uri: `${exampleBaseUrl}/docs#policy`,
      },
    },
    'get-authorization-server': {
      answer: {
        issuer: `${exampleBaseUrl}/oauth`,
        authorization_endpoint: `${exampleBaseUrl}/oauth/authorize`,
        token_endpoint: `${exampleBaseUrl}/oauth/token`,
        registration_endpoint: `${exampleBaseUrl}/oauth/register`,
        revocation_endpoint: `${exampleBaseUrl}/oauth/revoke`,
        revocation_endpoint_auth_methods_supported: ['none'],
        jwks_uri: `${exampleBaseUrl}/.well-known/jwks.json`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        prompt_values_supported: ['none', 'consent'],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        service_documentation: `${exampleBaseUrl}/docs`,
      },
    },
    authorize: noExample,
    'finish-sign-in': noExample,
    'accept-policy': noExample,
    'issue-token': noExample,
    'register-client': {
      body: { client_name: 'Inspector', redirect_uris: ['http://127.0.0.1:6276/oauth/callback'] },
      answer: {
        client_id: 'local.WyJJbnNwZWN0b3IiLCJodHRwOi8vMTI3LjAuMC4xOjYyNzYvb2F1dGgvY2FsbGJhY2siXQ',
        client_name: 'Inspector',
        redirect_uris: ['http://127.0.0.1:6276/oauth/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    },
    'get-openapi': noExample,
    'get-api-catalog': {
      answer: apiCatalog({ protocol, baseUrl: exampleBaseUrl, isSignInOffered: true }),
    },
    'get-docs': noExample,
    'get-root': noExample,
    'get-console': noExample,
    'get-docs-asset': noExample,
    mcp: noExample,
  };
}
