import * as z from 'zod';
import { errorBody } from '../../schemas/errors.ts';
import { briefPage, cataloguePage, describedDetails, fullIntent, intentPage, viewQuery } from '../../schemas/intent.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { descriptionQuery } from '../../schemas/pagination.ts';
import { searchQuery } from '../../schemas/search.ts';
import { serviceDescription } from '../../schemas/service-description.ts';
import { type EndpointGroup, noExample, wholeProcessorMb } from './endpoint.ts';
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
    summary: 'Search for intents',
    description:
      'Finds intents that match all given filters. With `query`, the best matches come first; without it, results are ordered by `intent_uid`. A change is visible to the very next search. Deprecated intents are found only by `uid`.',
    credential: 'none',
    query: searchQuery,
    answer: z.union([intentPage, briefPage, cataloguePage]),
    headers: ['ETag', 'Link'],
    needs: { table: { ...wholeRegistry, ...followed }, kms: ['publicKey'], snapshots: 'read', policy: true, wordVectors: true },
    needsWithCollection: { collection: 'read', kms: ['publicKey'], policy: true },
    timeoutSeconds: 29,
    memoryMb: wholeProcessorMb,
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
      '`view=full` returns the whole record, in the form that PUT accepts. `terms` lists what the policy states about this intent in particular: conditions, limits and prices. Drafts are returned only with `view=full` and the token of an admin of the service.',
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
      'Takes JSON-RPC messages of the Model Context Protocol, without sessions. With the setting `signIn`, `/mcp/sign-in` is the same server for hosts that sign people in: it answers every request without a valid PAT with 401, while `/mcp` needs a PAT for executions only, and returns a result with `isError` that says what to do.',
    credential: 'none',
    errors: ['UNSUPPORTED_MEDIA_TYPE', 'FORBIDDEN'],
    runs: ['search-intents', 'get-intent', 'get-policy', 'execute-intent', 'get-execution'],
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    answer: z.union([z.object({ jsonrpc: z.literal('2.0'), id: rpcId, result: z.looseObject({}) }), rpcError]),
    others: {
      202: { description: 'The notification was accepted.' },
      400: { description: 'The message violates the protocol, or the request was refused.', answer: z.union([rpcError, errorBody]) },
      401: {
        description: 'Only at `/mcp/sign-in`: the request has no valid PAT. `WWW-Authenticate` says where to get one.',
        answer: rpcError,
      },
      404: { description: 'There is no such method.', answer: z.union([rpcError, errorBody]) },
    },
    needs: { invokes: ['issue-pat'], signIn: true },
    timeoutSeconds: 29,
    example: noExample,
  },
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
