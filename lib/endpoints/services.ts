import { canonicalDigest } from '../../schemas/canonical.ts';
import { changeDetails, changePage, changesQuery } from '../../schemas/changes.ts';
import { savedCredential } from '../../schemas/credential.ts';
import { credentialInput } from '../../schemas/credential-input.ts';
import { savedService, serviceInput, serviceList, servicesQuery, serviceUpdate, shownService } from '../../schemas/service.ts';
import type { EndpointGroup } from './endpoint.ts';
import { intent, intentUid, renamed, revised, saved, service, serviceId } from './fixtures.ts';
import { changes, recordChanges } from './needs.ts';

const digestOf = (content: unknown): string => `sha-256=${canonicalDigest(content)}`;

/** An example intent as the registry stores it. */
const stored = (one: typeof intent) => ({ ...one, endpoint: { ...one.endpoint, content_type: 'application/json' } });

const exampleEntry = {
  seq: 1712,
  at: '2027-03-01T11:05:00.000Z',
  actor: { subject: 'd2c5f4a4-6091-70c2-8d1f-3a5b9e7c1f20', user_name: 'admin' },
  request_id: '2f6c1f0e-8d0b-4f5e-9a57-6c1f8a2b7d3e',
  changes: [
    {
      kind: 'intent',
      id: intentUid,
      action: 'update',
      digest_before: digestOf(stored(intent)),
      digest_after: digestOf(stored(revised)),
    },
  ],
  previous: 'sha-256=4Uq1ZzPmN0s8o7b1w1c3dYQeQm8i7Zc0n8m1p2q3r4s',
};

export const services = {
  'create-service': {
    specRow: 6,
    method: 'POST',
    path: '/api/services',
    summary: 'Register a service',
    description:
      'Names are unique, ignoring case and surrounding white space. Services registered by an admin of a namespace must have that `namespace`.',
    credential: 'admin',
    success: 201,
    body: serviceInput,
    requestHeaders: ['Import-Id'],
    answer: savedService,
    headers: ['ETag', 'Location'],
    needs: { table: { ...changes, serviceName: ['getAll', 'put'], service: ['put'], namespace: ['getAll', 'update'] } },
    example: { body: service, answer: saved(service) },
  },
  'update-service': {
    specRow: 7,
    method: 'PUT',
    path: '/api/services/{service_id}',
    summary: 'Replace a service',
    description:
      'Replaces the whole record: members that the body omits are removed, except `namespace`, which never changes once set. Accepts what GET returned.',
    credential: 'admin',
    body: serviceUpdate,
    requestHeaders: ['If-Match', 'Import-Id'],
    answer: savedService,
    headers: ['ETag'],
    needs: {
      table: {
        ...recordChanges,
        serviceName: ['getAll', 'put', 'delete'],
        service: ['getAll', 'put'],
        listEntry: ['query'],
        namespace: ['getAll', 'update'],
      },
    },
    example: { path: { service_id: serviceId }, body: renamed, answer: saved(renamed) },
  },
  'delete-service': {
    specRow: 8,
    method: 'DELETE',
    path: '/api/services/{service_id}',
    summary: 'Delete a service and its intents',
    description: "After the response, none of the service's intents can be found, listed or executed.",
    credential: 'admin',
    requestHeaders: ['If-Match', 'Import-Id'],
    needs: {
      table: {
        ...recordChanges,
        serviceName: ['delete'],
        service: ['getAll', 'delete'],
        listEntry: ['query', 'delete'],
        intent: ['delete'],
        namespace: ['getAll', 'update'],
      },
      credentials: 'write',
    },
    timeoutSeconds: 29,
    example: { path: { service_id: serviceId } },
  },
  'get-service': {
    specRow: 9,
    method: 'GET',
    path: '/api/services/{service_id}',
    summary: 'Read a service',
    description:
      'Returns the service as it was registered. For admins who may change it, also the names and origins of its credential, who set it and when, never a value. Other tokens are ignored.',
    credential: 'none',
    answer: shownService,
    headers: ['ETag'],
    needs: { table: { service: ['get'] }, adminTokens: true, catalogue: { listEntry: ['query'] } },
    example: { path: { service_id: serviceId }, answer: { service_id: serviceId, ...service } },
  },
  'list-services': {
    method: 'GET',
    path: '/api/services',
    summary: 'List the services',
    description:
      'Ordered by name, ignoring case. Admins also see the names and origins of the credentials of services that they may change.',
    credential: 'none',
    query: servicesQuery,
    answer: serviceList,
    headers: ['ETag', 'Link'],
    needs: {
      table: { serviceName: ['query'], service: ['getAll'] },
      adminTokens: true,
      catalogue: { head: ['get'], listEntry: ['query'] },
    },
    example: {
      query: { name: 'tides' },
      answer: { services: [{ ...saved(service), intents: 0 }], pagination: { current_page: 1, page_size: 10 } },
    },
  },
  'put-service-credential': {
    method: 'PUT',
    path: '/api/services/{service_id}/credential',
    summary: 'Set the credential of a service',
    description:
      "Calls of the service's intents to `origins` are sent with these header fields and query parameters, calls to other origins without. No response shows the values. Executions that begin after the response use the new values. This changes the `ETag` of the service and of its intents.",
    credential: 'admin',
    body: credentialInput,
    requestHeaders: ['If-Match'],
    answer: savedCredential,
    headers: ['ETag'],
    needs: { table: { ...changes, service: ['get', 'getAll', 'put'] }, credentials: 'write', addressRules: true },
    example: {
      path: { service_id: serviceId },
      body: { headers: { 'X-Api-Key': 'k-29f81c7a' }, query: { tenant: 'harbour-4711' } },
      answer: {
        service_id: serviceId,
        headers: ['X-Api-Key'],
        query: ['tenant'],
        origins: ['https://tides.example'],
      },
    },
  },
  'delete-service-credential': {
    method: 'DELETE',
    path: '/api/services/{service_id}/credential',
    summary: 'Remove the credential of a service',
    description:
      'Calls are then sent without it. Answers after three seconds, so that calls which have read it before are sent or read again.',
    credential: 'admin',
    requestHeaders: ['If-Match'],
    needs: { table: { ...changes, service: ['get', 'getAll', 'put'] }, credentials: 'write' },
    example: { path: { service_id: serviceId } },
  },
  'list-changes': {
    method: 'GET',
    path: '/api/changes',
    summary: 'Read who changed what',
    description:
      'The log of changes, newest first; admins of a namespace see those of its records. An entry is one atomic transaction, and contains the digest of the previous entry. With `kind`, `id` or `actor`, a page covers at most 1,000 entries, so it may be short or empty: follow `Link` until there is none.',
    credential: 'admin',
    query: changesQuery,
    answer: changePage,
    headers: ['Link'],
    needs: { table: { head: ['get'], log: ['query'] } },
    example: {
      query: { page_size: '1' },
      answer: {
        entries: [exampleEntry],
        head: { seq: 1712, digest: 'sha-256=Zk0yV1m2b8d3c5e7f9a1q2w3e4r5t6y7u8i9o0p1a2s' },
      },
    },
  },
  'get-change': {
    method: 'GET',
    path: '/api/changes/{seq}',
    summary: 'Read one change, with its records before and after',
    description:
      'Returns an entry of the log, with the earlier and later versions of the services and intents that it replaced or deleted, so that the change can be inspected and undone. Versions of more than 300 KB compressed are not kept.',
    credential: 'admin',
    answer: changeDetails,
    needs: { table: { log: ['get'], versions: ['get'] } },
    example: {
      path: { seq: '1712' },
      answer: {
        entry: exampleEntry,
        versions: [{ kind: 'intent', id: intentUid, service_id: serviceId, before: stored(intent), after: stored(revised) }],
      },
    },
  },
} as const satisfies EndpointGroup;
