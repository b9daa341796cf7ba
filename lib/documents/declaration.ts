import * as z from 'zod';
import { apiCatalog } from '../../functions/documents/self-description.ts';
import { documentQuery, foundDocument } from '../../schemas/documents/document.ts';
import { ownDescription, serviceDescription, thisGate } from '../../schemas/documents/service-description.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { descriptionQuery } from '../../schemas/pagination.ts';
import type { Declaration } from '../declaration.ts';
import { noExample, wholeProcessorMb } from '../endpoints/endpoint.ts';
import { currency, exampleBaseUrl, intent, intentUid, published, renamed, service, serviceId } from '../endpoints/fixtures.ts';
import { flag, localStage } from '../settings/kinds.ts';

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
declare module '../endpoints/needs.ts' {
  interface Needs {
    /** which documents it has beside its bundle */
    documents?: 'openapi' | 'page' | 'console' | 'assets';
    /** lets admins sign in, with the setting `adminSignIn` */
    adminSignIn?: true;
  }
}

/** Documents are public and cost bandwidth; browsers cache the large ones for a year. */
const throttle = { requestsPerSecond: 5, burst: 50 };

export const documents = {
  endpoints: {
    Discovery: {
      'get-service-description': {
        method: 'GET',
        path: '/api/services/{service_id}/description',
        summary: 'Read the description of a service',
        description:
          "The service's self-description for agents; deprecated intents are included and marked. If there are more intents than fit on a page, `Link` leads to the next page.",
        credential: 'none',
        query: descriptionQuery,
        answer: serviceDescription,
        headers: ['ETag', 'Link'],
        needs: { table: { listEntry: ['query'], service: ['get'], intent: ['getAll'] }, kms: ['publicKey'], catalogue: {} },
        example: ({ protocol }) => ({
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
        }),
      },
    },
    Services: {
      'get-document': {
        method: 'GET',
        path: '/api/document',
        summary: 'Read the document at an address',
        description:
          'Gets the OpenAPI document or service description at a public address, so that the console can import it. Redirects are not followed; the answer is compressed with gzip. Nothing is registered.',
        credential: 'admin',
        errors: ['INTENT_EXECUTION_FAILED'],
        query: documentQuery,
        answer: foundDocument,
        needs: { egress: 'documents' },
        timeoutSeconds: 29,
        example: {
          query: { url: 'https://tides.example/openapi.yaml' },
          answer: { document: 'openapi: 3.1.1\ninfo: { title: Tides, version: 1.0.0 }\npaths: {}\n' },
        },
      },
    },
    'This gate': {
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
        throttle,
        needs: { kms: ['publicKey'] },
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
        throttle,
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
        throttle,
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
        throttle,
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
        throttle,
        needs: { documents: 'console', adminSignIn: true },
        example: noExample,
      },
      'get-api-catalog': {
        method: 'GET',
        path: '/.well-known/api-catalog',
        furtherPaths: [{ path: '/llms.txt' }],
        summary: 'Read the API catalogue',
        description:
          'Links to everything that agents need: for programs a link set (RFC 9727, RFC 9264), for models the same in words at `/llms.txt`.',
        credential: 'none',
        answer: z.looseObject({ linkset: z.array(z.looseObject({ anchor: z.url() })) }),
        mediaType: 'application/linkset+json',
        headers: ['ETag'],
        needs: {},
        memoryMb: 256,
        example: ({ protocol }) => ({
          answer: apiCatalog({ protocol, baseUrl: exampleBaseUrl, isSignInOffered: true }),
        }),
      },
    },
  },
  pathParameters: { asset: { description: 'name of the file', schema: { type: 'string' } } },
  outputs: {
    ConsoleUrl: ['/console', 'Catalogue of intents, and console for admins'],
    DocsUrl: ['/docs', 'API reference'],
  },
  settings: {
    adminSignIn: flag
      .default(false)
      .describe('admins sign in to `/console` with the user pool; needs `domainName` or `publicBaseUrl`, to which the user pool redirects'),
  },
  rules: [
    [
      'adminSignIn',
      ({ adminSignIn, stage, domainName, publicBaseUrl }) => adminSignIn && stage !== localStage && !domainName && !publicBaseUrl,
      'needs domainName or publicBaseUrl, to which the user pool redirects admins',
    ],
  ],
} as const satisfies Declaration;
