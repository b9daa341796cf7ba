import { intentChanges, intentInput, intentList, intentsChanged, intentUpdate, savedIntent } from '../../schemas/intent.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { listQuery } from '../../schemas/pagination.ts';
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
    row: 10,
    method: 'GET',
    path: '/api/services/{service_id}/intents',
    summary: "List a service's intents",
    description:
      'In the order of `intent_uid`. A page past the end is empty. Drafts are listed with the token of an admin of the service; a token that is sent must be that of an admin.',
    credential: 'none',
    errors: ['UNAUTHORIZED', 'FORBIDDEN'],
    query: listQuery,
    answer: intentList,
    headers: ['ETag', 'Link'],
    needs: { table: { listEntry: ['query'], service: ['get'] }, adminTokens: true },
    example: {
      path: { service_id: serviceId },
      answer: {
        intents: [{ ...saved, tags: intent.tags, method: intent.endpoint.method, url: intent.endpoint.url }],
        pagination: { total_results: 1, total_pages: 1, current_page: 1, page_size: 10 },
      },
    },
  },
  'create-intent': {
    row: 11,
    method: 'POST',
    path: '/api/services/{service_id}/intents',
    summary: 'Create an intent',
    description:
      '`endpoint` is an address, which is then called by POST with a JSON body, or an object with `url`, `method`, `content_type` and `body`. The address may hold places of RFC 6570, `{name}` and `{?name}`, that input parameters fill; the remaining parameters go into the query of GET and DELETE, or else into the body, unless they say `in: query` or `in: body`; inputs with `in: header` are header fields of the call. If `body` names a parameter, its value is the whole body; if it is null, there is no body; the others then go into the query.',
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
    summary: "Create, replace and delete up to 30 of a service's intents, all or none",
    description:
      'All of the changes are made, or none: a refusal names the places in `details.issues`, as in `/create/3/endpoint/url`. A client that was interrupted between two requests looks at what stands, and sends what is missing.',
    credential: 'admin',
    body: intentChanges,
    answer: intentsChanged,
    needs: { table: changingIntents, addressRules: true },
    example: {
      path: { service_id: serviceId },
      body: { create: [intent] },
      answer: { seq: 1713, intents: [{ intent_uid: intentUid, digest: digestIntent(intent) }] },
    },
  },
  'update-intent': {
    row: 12,
    method: 'PUT',
    path: '/api/intents/{intent_uid}',
    summary: 'Replace an intent (its intent_id is its intent_uid)',
    description:
      'Replaces the whole record. `intent_uid` must be that of the path: a new version is a new intent. Takes what a read has shown: with the `digest` and the `endpoint` of the short view, what that view leaves out stays as it is.',
    credential: 'admin',
    body: intentUpdate,
    requestHeaders: ['If-Match'],
    answer: savedIntent,
    headers: ['ETag'],
    needs: { table: changingIntents, addressRules: true },
    example: { path: { intent_uid: intentUid }, body: revised, answer: saved },
  },
  'delete-intent': {
    row: 13,
    method: 'DELETE',
    path: '/api/intents/{intent_uid}',
    summary: 'Delete an intent',
    description: 'Its uid becomes free again.',
    credential: 'admin',
    success: 204,
    requestHeaders: ['If-Match'],
    needs: { table: changingIntents },
    example: { path: { intent_uid: intentUid } },
  },
} as const satisfies EndpointGroup;
