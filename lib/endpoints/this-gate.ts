import * as z from 'zod';
import { apiCatalog } from '../../functions/documents/self-description.ts';
import { directoryMediaType, directoryPath } from '../../functions/web-bot-auth/signature.ts';
import { descriptionQuery } from '../../schemas/pagination.ts';
import { ownDescription, thisGate } from '../../schemas/service-description.ts';
import { callKeySet, health, keySet } from '../../schemas/well-known.ts';
import { type EndpointGroup, noExample, wholeProcessorMb } from './endpoint.ts';
import { currency, exampleBaseUrl, published } from './fixtures.ts';

const isUp = { status: 'ok' };

export const aboutThisGate = {
  'get-own-description': {
    method: 'GET',
    path: '/agents.json',
    summary: 'Read the description of this gate',
    description:
      'The starting point for agents: the gate as a service description, with the intents of all services ordered by `intent_uid`, except for deprecated ones. If there are more than fit on a page, `Link` leads to the next page.',
    credential: 'none',
    runs: ['search-intents'],
    query: descriptionQuery,
    answer: ownDescription,
    headers: ['ETag', 'Link'],
    needs: { kms: ['publicKey'], signIn: true },
    timeoutSeconds: 29,
    memoryMb: wholeProcessorMb,
    example: ({ protocol }) => ({
      answer: {
        'service-info': { name: thisGate.service_name, description: thisGate.description, service_url: exampleBaseUrl },
        intents: [currency],
        ...published(protocol),
        [`${protocol}-pat-issue`]: `${exampleBaseUrl}/api/pat/issue`,
        'service-desc': `${exampleBaseUrl}/openapi.json`,
        mcp: `${exampleBaseUrl}/mcp`,
        'mcp-sign-in': `${exampleBaseUrl}/mcp/sign-in`,
      },
    }),
  },
  'get-openapi': {
    method: 'GET',
    path: '/openapi.json',
    summary: 'Read the OpenAPI document',
    description: 'OpenAPI 3.1.',
    credential: 'none',
    answer: z.looseObject({ openapi: z.string() }),
    headers: ['ETag'],
    needs: { documents: 'openapi' },
    example: noExample,
  },
  'get-docs': {
    method: 'GET',
    path: '/docs',
    summary: 'Read about the API',
    description:
      'The policy in plain words, the errors, and links to all documents. Browsers are sent on to this reference in the console, where requests can be tried.',
    credential: 'none',
    answer: z.string(),
    mediaType: 'text/html',
    headers: ['ETag'],
    needs: { policy: true, documents: 'page' },
    example: noExample,
  },
  'get-docs-asset': {
    method: 'GET',
    path: '/docs/{asset}',
    summary: 'Get a file that the console loads',
    description:
      'The name of a file changes with its content, so it may be cached indefinitely. `policy.schema.json`, the JSON schema of policy files for editors, keeps its name.',
    credential: 'none',
    answer: z.string(),
    mediaType: '*/*',
    needs: { documents: 'assets' },
    example: noExample,
  },
  'get-root': {
    method: 'GET',
    path: '/',
    summary: 'Redirects browsers to the console, programs to the OpenAPI document',
    description: 'Redirects clients that accept `text/html` to `/console`, others to `/openapi.json`.',
    credential: 'none',
    success: 302,
    redirects: { browsers: '/console', programs: '/openapi.json' },
    needs: {},
    example: noExample,
  },
  'get-console': {
    method: 'GET',
    path: '/console',
    summary: 'Open the console',
    description:
      'A page with the catalogue of intents, a form to run each, this reference, and forms for admins. It reads data from the other endpoints and loads nothing from other hosts.',
    credential: 'none',
    answer: z.string(),
    mediaType: 'text/html',
    headers: ['ETag'],
    needs: { documents: 'console', adminSignIn: true, signIn: true },
    example: noExample,
  },
  'get-api-catalog': {
    method: 'GET',
    path: '/.well-known/api-catalog',
    further: [{ path: '/llms.txt' }],
    summary: 'Read the API catalogue',
    description:
      'Links to everything that agents need: for programs a link set (RFC 9727, RFC 9264), for models the same in words at `/llms.txt`.',
    credential: 'none',
    answer: z.looseObject({ linkset: z.array(z.looseObject({ anchor: z.url() })) }),
    mediaType: 'application/linkset+json',
    headers: ['ETag'],
    needs: { signIn: true },
    memoryMb: 256,
    example: ({ protocol }) => ({
      answer: apiCatalog({ protocol, baseUrl: exampleBaseUrl, isSignInOffered: true }),
    }),
  },
  'get-jwks': {
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'Read the public keys that verify PATs',
    description: 'Keys are published before they sign. The response may be cached for five minutes.',
    credential: 'none',
    answer: keySet,
    headers: ['ETag'],
    needs: { kms: ['publicKey'] },
    example: {
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
  },
  'get-signature-directory': {
    method: 'GET',
    path: directoryPath,
    summary: 'Read the public keys that verify the calls of this gate',
    description:
      'For upstreams: the Web Bot Auth directory, signed with each of its keys. The first key signs; its successor is listed from thirty days before it signs, its predecessor for thirty days after. The response may be cached for five minutes.',
    credential: 'none',
    answer: callKeySet,
    mediaType: directoryMediaType,
    headers: ['ETag'],
    needs: { callKey: true },
    memoryMb: 256,
    example: {
      answer: {
        keys: [
          {
            kty: 'OKP',
            crv: 'Ed25519',
            x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
            kid: 'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
            alg: 'EdDSA',
            use: 'sig',
          },
        ],
      },
    },
  },
  'get-health': {
    method: 'GET',
    path: '/health',
    summary: 'Check that the API is up',
    description: 'Does not check the functions behind the API.',
    credential: 'none',
    answer: health,
    constant: () => isUp,
    needs: {},
    example: { answer: isUp },
  },
} as const satisfies EndpointGroup;
