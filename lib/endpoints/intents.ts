import * as z from 'zod';
import { intentInput, intentUpdate, savedIntent } from '../../schemas/intent.ts';
import { intentChanges, intentsChanged } from '../../schemas/intent-changes.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { fullIntentList, intentList, serviceIntentsQuery } from '../../schemas/intent-pages.ts';
import type { EndpointGroup } from './endpoint.ts';
import { intent, intentUid, revised, serviceId } from './fixtures.ts';
import { changes, recordChanges } from './needs.ts';

const creatingIntents = {
  ...changes,
  service: ['get', 'getAll', 'update', 'check'],
  intent: ['getAll', 'put', 'delete'],
  listEntry: ['put', 'delete'],
  namespace: ['getAll', 'update'],
} as const;

/** Needed to replace and delete intents. */
const changingIntents = { ...creatingIntents, ...recordChanges };

const saved = {
  intent_id: intentUid,
  intent_uid: intentUid,
  intent_name: intent.intent_name,
  description: intent.description,
};

export const intents = {
  'list-service-intents': {
    specRow: 10,
    method: 'GET',
    path: '/api/services/{service_id}/intents',
    summary: "List a service's intents",
    description:
      'Ordered by `intent_uid`. A page beyond the last is empty. With `view=full`, pages of at most 2 MB contain complete records. Admins of the service also see drafts. Other tokens are ignored, but one that has expired is refused.',
    credential: 'none',
    errors: ['UNAUTHORIZED'],
    query: serviceIntentsQuery,
    answer: z.union([intentList, fullIntentList]),
    headers: ['ETag', 'Link'],
    needs: { table: { listEntry: ['query'], service: ['get'], intent: ['getAll'] }, adminTokens: true, catalogue: {} },
    example: {
      path: { service_id: serviceId },
      answer: {
        intents: [{ ...saved, tags: intent.tags, method: intent.endpoint.method, url: intent.endpoint.url }],
        pagination: { total_results: 1, total_pages: 1, current_page: 1, page_size: 10 },
      },
    },
  },
  'create-intent': {
    specRow: 11,
    method: 'POST',
    path: '/api/services/{service_id}/intents',
    summary: 'Create an intent',
    description:
      '`endpoint` is an address, called by POST with a JSON body, or an object with `url`, `method`, `content_type`, `body` and `response_headers`. Input parameters fill RFC 6570 placeholders in the address, such as `{name}` and `{?name}`. The others go into the query for GET and DELETE, else into the body, unless they have `in: query` or `in: body`; inputs with `in: header` become header fields. If `body` names a parameter, its value is the whole body; if it is null, there is no body. The others then go into the query.',
    credential: 'admin',
    success: 201,
    body: intentInput,
    answer: savedIntent,
    headers: ['Location'],
    needs: { table: creatingIntents, addressRules: true },
    example: { path: { service_id: serviceId }, body: intent, answer: saved },
  },
  'change-intents': {
    method: 'POST',
    path: '/api/services/{service_id}/changes',
    summary: "Create, replace and delete up to 30 of a service's intents in one transaction",
    description:
      'Either all changes are made, or none: a refusal lists the places in `details.issues`, such as `/create/3/endpoint/url`. After an interruption, read the registered intents and send the remaining changes.',
    credential: 'admin',
    body: intentChanges,
    requestHeaders: ['Import-Id'],
    answer: intentsChanged,
    needs: { table: changingIntents, addressRules: true, invokes: ['snapshot-search-index'] },
    example: {
      path: { service_id: serviceId },
      body: { create: [intent] },
      answer: { seq: 1713, intents: [{ intent_uid: intentUid, digest: digestIntent(intent) }] },
    },
  },
  'update-intent': {
    specRow: 12,
    method: 'PUT',
    path: '/api/intents/{intent_uid}',
    summary: 'Replace an intent',
    description:
      'Replaces the whole record. `intent_uid` must be that of the path: a new version is a new intent. Accepts what GET returned; with the `digest` and `endpoint` of the short view, members that the view omits are kept.',
    credential: 'admin',
    body: intentUpdate,
    requestHeaders: ['If-Match'],
    answer: savedIntent,
    headers: ['ETag'],
    needs: { table: changingIntents, addressRules: true },
    example: { path: { intent_uid: intentUid }, body: revised, answer: saved },
  },
  'delete-intent': {
    specRow: 13,
    method: 'DELETE',
    path: '/api/intents/{intent_uid}',
    summary: 'Delete an intent',
    description: 'The uid may then be used again.',
    credential: 'admin',
    requestHeaders: ['If-Match'],
    needs: { table: changingIntents },
    example: { path: { intent_uid: intentUid } },
  },
} as const satisfies EndpointGroup;
