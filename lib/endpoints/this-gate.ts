import * as z from 'zod';
import { apiCatalog } from '../../functions/core/http/self-description.ts';
import { directoryMediaType, directoryPath } from '../../functions/core/relay/signature.ts';
import { descriptionQuery } from '../../schemas/pagination.ts';
import { ownDescription, thisGate } from '../../schemas/service-description.ts';
import { callKeySet, health, keySet } from '../../schemas/well-known.ts';
import { type EndpointGroup, noExample } from './endpoint.ts';
import { currency, exampleBaseUrl, published } from './fixtures.ts';

const isUp = { status: 'ok' };

export const aboutThisGate = {
  'get-own-description': {
    method: 'GET',
    path: '/agents.json',
    summary: 'Read what this gate publishes for agents',
    description:
      'Where agents begin: the gate in the form of a service description, with the intents of all services in the order of `intent_uid`, but for deprecated ones. If there are more than fit on a page, `Link` leads to the next one.',
    credential: 'none',
    runs: ['search-intents'],
    query: descriptionQuery,
    answer: ownDescription,
    headers: ['ETag', 'Link'],
    needs: { kms: ['publicKey'], signIn: true },
    memoryMb: 1024,
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
      'The policy in plain words, the errors, and links to all documents. A browser goes on to this reference in the console, to read and to try.',
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
      'The name of a file changes with its content, so it may be cached indefinitely. `policy.schema.json` is the JSON schema of policy files, for editors; it keeps its name.',
    credential: 'none',
    answer: z.string(),
    mediaType: '*/*',
    needs: { documents: 'assets' },
    example: noExample,
  },
  'get-root': {
    method: 'GET',
    path: '/',
    summary: 'Go to the console, or for programs to the OpenAPI document',
    description: 'Whoever accepts `text/html` is led to `/console`, anybody else to `/openapi.json`.',
    credential: 'none',
    success: 302,
    needs: {},
    memoryMb: 256,
    example: noExample,
  },
  'get-console': {
    method: 'GET',
    path: '/console',
    summary: 'Find and run intents, and administer them, in a browser',
    description:
      'The catalogue of intents, with a form for each, this reference, and for admins the console. It loads nothing from other hosts; what it shows it reads from the other endpoints.',
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
    summary: 'Read where everything is that agents need',
    description: 'For programs a link set (RFC 9727, RFC 9264), and at `/llms.txt` the same in words, for models.',
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
    description: 'A key is published before it signs. A copy may be kept for five minutes.',
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
      'For upstreams: the directory of Web Bot Auth, signed with each of its keys. The first key signs; the next one is published thirty days before it does, and the last one for thirty days after. A copy may be kept for five minutes.',
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
  'get-log': {
    method: 'GET',
    path: '/log/checkpoint',
    further: [{ path: '/log/key' }, { path: '/log/jwks.json' }, { path: '/log/tile/{tile+}' }],
    summary: 'Read the log of receipts',
    description:
      'The newest checkpoint of a log in C2SP `tlog-tiles` format, as a signed note. `/log/key` has its verifier key, `/log/jwks.json` the key that certifies receipts, and `/log/tile/` its tiles. An entry holds the id of an execution and the SHA-256 digest of its receipt.',
    credential: 'none',
    answer: z.string(),
    mediaType: 'text/plain',
    errors: ['NOT_FOUND'],
    needs: { table: { receiptLog: ['get'] }, receipts: 'read' },
    example: noExample,
  },
  'get-health': {
    method: 'GET',
    path: '/health',
    summary: 'Whether the gate is up',
    description: 'Does not depend on the parts behind the API.',
    credential: 'none',
    answer: health,
    constant: () => isUp,
    needs: {},
    example: { answer: isUp },
  },
} as const satisfies EndpointGroup;
