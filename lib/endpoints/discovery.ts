import * as z from 'zod';
import { errorBody } from '../../schemas/error-body.ts';
import { briefPage, cataloguePage, describedDetails, fullIntent, intentPage, viewQuery } from '../../schemas/intent.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { descriptionQuery } from '../../schemas/pagination.ts';
import { searchQuery } from '../../schemas/search.ts';
import { serviceDescription } from '../../schemas/service-description.ts';
import { type EndpointGroup, noExample } from './endpoint.ts';
import { currency, intent, intentUid, published, renamed, service, serviceId } from './fixtures.ts';
import { followed, wholeRegistry } from './needs.ts';

/** JSON-RPC 2.0 sections 4 and 5. */
const rpcId = z.union([z.string(), z.int()]);
const rpcError = z.object({
  jsonrpc: z.literal('2.0'),
  id: rpcId.optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }),
});

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

export const discovery = {
  'search-intents': {
    row: 1,
    method: 'GET',
    path: '/api/intents/search',
    alias: '/{protocol}/intents/search',
    summary: 'Find intents by question, words and filters',
    description:
      'An intent must match all filters that are given. With `query`, the best matches come first; without it, the order is that of `intent_uid`. What an admin has written is found by the very next search. Deprecated intents are found only by `uid`.',
    credential: 'none',
    query: searchQuery,
    answer: z.union([intentPage, briefPage, cataloguePage]),
    headers: ['ETag', 'Link'],
    needs: { table: { ...wholeRegistry, ...followed }, kms: ['publicKey'], snapshots: 'read', policy: true, wordVectors: true },
    needsWithCollection: { collection: 'read', kms: ['publicKey'], policy: true },
    memoryMb: 1024,
    example: {
      query: { query: 'what is the symbol of the Swiss franc', page_size: '1' },
      answer: { intents: [currency], pagination: { total_results: 6, total_pages: 6, current_page: 1, page_size: 1 } },
    },
  },
  'get-intent': {
    row: 2,
    method: 'GET',
    path: '/api/intents/{intent_uid}',
    summary: 'Read one intent',
    description:
      'With `view=full`, everything that was registered, in the form that a PUT takes. `terms` says what the policy asks for this intent in particular: conditions, limits and prices. A draft is there only with `view=full` and the token of an admin of its service.',
    credential: 'none',
    errors: ['UNAUTHORIZED', 'FORBIDDEN'],
    query: viewQuery,
    answer: z.union([describedDetails, fullIntent]),
    headers: ['ETag'],
    needs: {
      table: { intent: ['getAll'], service: ['getAll'] },
      kms: ['publicKey'],
      invokes: ['search-intents'],
      adminTokens: true,
      policy: true,
    },
    example: { path: { intent_uid: currency.intent_uid }, answer: currency },
  },
  mcp: {
    method: 'POST',
    path: '/mcp',
    further: [{ path: '/mcp/sign-in', onlyWith: 'signIn' }],
    summary: 'Search, read, accept the policy and execute over the Model Context Protocol',
    description:
      'JSON-RPC messages of the Model Context Protocol, without sessions. `/mcp/sign-in`, with the setting `signIn`, is the same server for hosts that sign people in: it answers 401 where a tool needs a PAT. `/mcp` never does: there, that is a result with `isError` which says what to do.',
    credential: 'none',
    errors: ['UNSUPPORTED_MEDIA_TYPE', 'FORBIDDEN'],
    runs: ['search-intents', 'get-intent', 'get-policy', 'execute-intent', 'get-execution'],
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    answer: z.union([z.object({ jsonrpc: z.literal('2.0'), id: rpcId, result: z.looseObject({}) }), rpcError]),
    others: {
      202: { description: 'A notification was taken.' },
      400: { description: 'A mistake in the protocol, or a refusal of the request.', answer: z.union([rpcError, errorBody]) },
      401: { description: 'At `/mcp/sign-in` only: a tool needs a PAT. `WWW-Authenticate` says where to get one.', answer: rpcError },
      404: { description: 'A method that there is not.', answer: z.union([rpcError, errorBody]) },
    },
    needs: { invokes: ['issue-pat'], signIn: true },
    timeoutSeconds: 29,
    memoryMb: 1024,
    example: noExample,
  },
  'get-service-description': {
    method: 'GET',
    path: '/api/services/{service_id}/description',
    summary: 'Read what a service publishes for agents',
    description:
      'What the service publishes for agents; deprecated intents are included and marked. If there are more intents than fit on a page, `Link` leads to the next one.',
    credential: 'none',
    query: descriptionQuery,
    answer: serviceDescription,
    headers: ['ETag', 'Link'],
    needs: { table: { listEntry: ['query'], service: ['get'], intent: ['getAll'] }, kms: ['publicKey'] },
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
} as const satisfies EndpointGroup;
