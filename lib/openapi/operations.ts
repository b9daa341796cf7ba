import * as z from 'zod';
import { jwsAlgorithmNames } from '../../functions/core/pat/signatures.ts';
import { agent, agentNames, agentPage, agentQuery, agentWithUsage, approvalInput, blockInput, clearQuery } from '../../schemas/agent.ts';
import { changePage, changesQuery } from '../../schemas/changes.ts';
import { credentialInput, savedCredential } from '../../schemas/credential.ts';
import { errorBody } from '../../schemas/errors.ts';
import { executionRequest } from '../../schemas/execution.ts';
import {
  briefPage,
  describedDetails,
  fullIntent,
  intentChanges,
  intentInput,
  intentList,
  intentPage,
  intentsChanged,
  intentUpdate,
  savedIntent,
  viewQuery,
} from '../../schemas/intent.ts';
import { descriptionQuery, listQuery } from '../../schemas/pagination.ts';
import { patRequest, patResponse } from '../../schemas/pat.ts';
import { policy, policyQuery, policyWords } from '../../schemas/policy.ts';
import { searchQuery } from '../../schemas/search.ts';
import { savedService, serviceInput, serviceList, servicesQuery, serviceUpdate, shownService } from '../../schemas/service.ts';
import { ownDescription, serviceDescription } from '../../schemas/service-description.ts';
import {
  acceptForm,
  authorizationParameters,
  authorizationServer,
  protectedResource,
  refreshForm,
  registrationRequest,
  registrationResponse,
  revocationForm,
  tokenForm,
  tokenRefusal,
  tokenResponse,
} from '../../schemas/sign-in.ts';
import { stats, statsQuery } from '../../schemas/stats.ts';
import { health, keySet } from '../../schemas/well-known.ts';
import type { EndpointName } from '../endpoints.ts';
import type { RequestHeader, ResponseHeader } from './headers.ts';

export const tags = {
  Discovery: 'Find intents by a question in plain words or by filters.',
  Policy: 'Read and sign the usage policy, and get a Policy Adherence Token (PAT).',
  Execution: 'Run an intent.',
  Services: 'Register services. For admins, except for the reads.',
  Intents: 'Register the intents of a service. For admins, except for the reads.',
  Agents: 'See, approve, block and revoke agents. For admins.',
  'Sign-in': 'For hosts that have no key: people sign in, and accept the policy in a browser (OAuth 2.1). Only with the setting `signIn`.',
  'This gate': 'What the gate publishes about itself.',
};

/** What the document says about an endpoint besides its row in the table of endpoints. */
export interface OperationText {
  tag: keyof typeof tags;
  description: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** if the body is not JSON */
  bodyType?: string;
  requestHeaders?: RequestHeader[];
  /** left out if the answer has no body */
  answer?: z.ZodType;
  /** if the answer is not JSON */
  mediaType?: string;
  headers?: ResponseHeader[];
  /** answers of a form that no other endpoint has, by status; without content if they have no `answer` */
  others?: Record<number, { description: string; answer?: z.ZodType; mediaType?: string }>;
}

/** JSON-RPC 2.0 sections 4 and 5. */
const rpcId = z.union([z.string(), z.int()]);
const rpcError = z.object({
  jsonrpc: z.literal('2.0'),
  id: rpcId.optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }),
});

const form = 'application/x-www-form-urlencoded';
const refusedPage = { description: 'A page that says what is wrong.', answer: z.string(), mediaType: 'text/html' };
const refusedToken = {
  description: 'A refusal in the form of RFC 6749, or one of the gateway.',
  answer: z.union([tokenRefusal, errorBody]),
};

const revision: ResponseHeader[] = ['ETag'];
const paged: ResponseHeader[] = ['ETag', 'Link'];
const limited: ResponseHeader[] = ['RateLimit', 'RateLimit-Policy'];
const guarded: RequestHeader[] = ['If-Match'];

/** What the document says about each endpoint. */
export const describeOperations = (protocol: string): Record<EndpointName, OperationText> => ({
  'search-intents': {
    tag: 'Discovery',
    description:
      'An intent must match all filters that are given. With `query`, the best matches come first; without it, the order is that of `intent_uid`. What an admin has written is found by the very next search. Deprecated intents are found only by `uid`.',
    query: searchQuery,
    answer: z.union([intentPage, briefPage]),
    headers: paged,
  },
  'get-intent': {
    tag: 'Discovery',
    description:
      'With `view=full`, everything that was registered, in the form that a PUT takes. `terms` says what the policy asks for this intent in particular: conditions, limits and prices. A draft is there only with `view=full` and the token of an admin of its service.',
    query: viewQuery,
    answer: z.union([describedDetails, fullIntent]),
    headers: revision,
  },
  'execute-intent': {
    tag: 'Execution',
    description:
      'Checks the PAT, the policy, the parameters and the limits, calls the endpoint of the intent, and returns its answer: a JSON object as it is, and other content in an object. 200 means that the endpoint answered 2xx; `Answer-Issues` names what does not match the output parameters. Numbers have as many digits as the endpoint sent: read them exactly. If `details.outcome` of an error is `executed` or `unknown`, do not simply send the request again. A request that is refused for its parameters does not count against the limit. Send an `Idempotency-Key` if you may have to send the request again: nothing is executed twice under one key. Send the `digest` that you read in `If-Match` (or an `ETag` of the intent) to execute the intent only as you know it: 409 names in `details.changed` what is different, and nothing is called or counted.',
    body: executionRequest,
    requestHeaders: ['Idempotency-Key', 'If-Match', 'DPoP'],
    answer: z.record(z.string(), z.unknown()),
    headers: [...limited, 'Answer-Issues', 'Answer-Cut', 'Budget-Warning', 'Execution-Id', 'Idempotent-Replayed'],
  },
  'get-policy': {
    tag: 'Policy',
    description:
      'Sign these bytes, or a JWS with this document as its payload. A PAT is valid for exactly this policy and ends with it. With `view=words`, the same in plain sentences, to show to a person.',
    query: policyQuery,
    answer: z.union([policy, policyWords]),
    headers: revision,
  },
  'issue-pat': {
    tag: 'Policy',
    description: [
      `\`signed_policy\` is a compact JWS whose payload is the policy, a detached one (nothing between the dots), or a bare signature over the bytes of the policy in hex, base64 or base64url. Algorithms: ${jwsAlgorithmNames.join(', ')}.`,
      '`agent_public_key` is a public key as PEM, as base64 of PEM or DER, or as a JWK in JSON: RSA of 2048 bits or more, P-256, P-384 or Ed25519.',
      'The first key that presents an `agent_id` keeps it; ids that differ only in case and white space are one. Where the gate lets other keys use it too, they are agents of their own, called `<agent_id>~<thumbprint>`. If a `DPoP` proof is sent, the PAT can only be used with one, and none is issued to the agent without one from then on. The gate may approve agents before their first PAT (403, `approval_pending`).',
    ].join('\n\n'),
    body: patRequest,
    requestHeaders: ['DPoP'],
    answer: patResponse(protocol),
    headers: limited,
  },
  'create-service': {
    tag: 'Services',
    description:
      'Names are unique, regardless of case and surrounding white space. What an admin of a namespace registers must have that `namespace`.',
    body: serviceInput,
    answer: savedService,
    headers: ['ETag', 'Location'],
  },
  'update-service': {
    tag: 'Services',
    description:
      'Replaces the whole record: what the body leaves out is removed, except the `namespace`, which stays once it is set. Takes what a read has shown.',
    body: serviceUpdate,
    requestHeaders: guarded,
    answer: savedService,
    headers: revision,
  },
  'delete-service': {
    tag: 'Services',
    description: 'Once this is answered, none of the intents of the service is found, listed or executed.',
    requestHeaders: guarded,
  },
  'get-service': {
    tag: 'Services',
    description:
      "The service as it was registered. With an admin's token, also what is known of its credential: names, origins, who has set it and when, never a value. Any other token is ignored.",
    answer: shownService,
    headers: revision,
  },
  'list-services': {
    tag: 'Services',
    description:
      'In the order of their names, whatever their case. With the token of an admin, it says what is known of their credentials.',
    query: servicesQuery,
    answer: serviceList,
    headers: paged,
  },
  'list-service-intents': {
    tag: 'Intents',
    description:
      'In the order of `intent_uid`. A page past the end is empty. Drafts are listed with the token of an admin of the service; a token that is sent must be that of an admin.',
    query: listQuery,
    answer: intentList,
    headers: paged,
  },
  'create-intent': {
    tag: 'Intents',
    description:
      '`endpoint` is an address, which is then called by POST with a JSON body, or an object with `url`, `method`, `content_type` and `body`. The address may hold places of RFC 6570, `{name}` and `{?name}`, that input parameters fill; the remaining parameters go into the query of GET and DELETE, or else into the body, unless they say `in: query` or `in: body`; inputs with `in: header` are header fields of the call. If `body` names a parameter, its value is the whole body; if it is null, there is no body; the others then go into the query.',
    body: intentInput,
    answer: savedIntent,
    headers: ['Location'],
  },
  'change-intents': {
    tag: 'Intents',
    description:
      'All of the changes are made, or none: a refusal names the places in `details.issues`, as in `/create/3/endpoint/url`. A client that was interrupted between two requests looks at what stands, and sends what is missing.',
    body: intentChanges,
    answer: intentsChanged,
  },
  'update-intent': {
    tag: 'Intents',
    description:
      'Replaces the whole record. `intent_uid` must be that of the path: a new version is a new intent. Takes what a read has shown: with the `digest` and the `endpoint` of the short view, what that view leaves out stays as it is.',
    body: intentUpdate,
    requestHeaders: guarded,
    answer: savedIntent,
    headers: revision,
  },
  'delete-intent': { tag: 'Intents', description: 'Its uid becomes free again.', requestHeaders: guarded },
  'get-agent': {
    tag: 'Agents',
    query: agentNames,
    description:
      'When the agent was first seen, the key to which its id is bound, whether it is blocked, and how much of each limit and budget of the policy its key has used.',
    answer: agentWithUsage,
  },
  'list-agents': {
    tag: 'Agents',
    description:
      'In the order of their ids, regardless of case. A page may hold fewer agents than it could, even none; if there may be more, `Link` leads to the next one.',
    query: agentQuery,
    answer: agentPage,
    headers: ['Link'],
  },
  'approve-agent': {
    tag: 'Agents',
    description:
      'Approves the `agent_id` together with a key. Give `key_thumbprint`, here or in the query, if several keys wait under the `agent_id`, or if it has not asked yet.',
    query: agentNames,
    body: approvalInput,
    answer: agent,
  },
  'block-agent': {
    tag: 'Agents',
    description:
      'No PAT is issued to the `agent_id` or its key, and none is accepted, from the next request on and under whatever other id or key. The answer takes three seconds: after it, no call of the agent is sent any more. A block does not expire. An `agent_id` that nobody has presented yet can be blocked, too.',
    query: agentNames,
    body: blockInput,
    answer: agent,
  },
  'clear-waiting-agents': {
    tag: 'Agents',
    description: 'Empties the queue of agents that wait for approval. Agents that ask again wait again.',
    query: clearQuery,
  },
  'unblock-agent': { tag: 'Agents', query: agentNames, description: 'PATs of the agent that have not expired are accepted again.' },
  'revoke-agent': {
    tag: 'Agents',
    query: agentNames,
    description:
      'PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: what keeps an agent out is a block.',
    answer: agent,
  },
  'delete-agent': {
    tag: 'Agents',
    query: agentNames,
    description:
      'Also ends its PATs; the next key that presents the `agent_id` gets it. A block stays, for the id and for the key that had it.',
  },
  'put-service-credential': {
    tag: 'Services',
    description:
      'Calls of the intents of this service at `origins` carry these header fields and query parameters, and are signed (RFC 9421) with the key in the answer; calls at other origins are not. The key is shown once, the values never. No execution that begins once this is answered carries earlier values. This is a change of the service: its `ETag` changes, and those of its intents.',
    body: credentialInput,
    requestHeaders: guarded,
    answer: savedCredential,
    headers: revision,
  },
  'delete-service-credential': {
    tag: 'Services',
    description: 'Calls no longer carry it, and are no longer signed.',
    requestHeaders: guarded,
  },
  'list-changes': {
    tag: 'Services',
    description:
      'The log of what admins have changed, newest first; an admin of a namespace sees what belongs to it. An entry is one transaction, which took place as a whole, and holds the digest of the one before it. With `kind`, `id` or `actor`, a page looks at no more than 1,000 entries, so it may be short or empty: follow `Link` until there is none.',
    query: changesQuery,
    answer: changePage,
    headers: ['Link'],
  },
  'get-stats': {
    tag: 'Services',
    description:
      'Executions, refusals by their code, upstream failures and latency of each service; an admin of a namespace sees the services that belong to it. An instance of the gate writes what it has counted once a minute, so the last minute may be missing, and an instance that ends takes what it has not written along.',
    query: statsQuery,
    answer: stats,
  },
  'get-service-description': {
    tag: 'Discovery',
    description:
      'What the service publishes for agents; deprecated intents are included and marked. If there are more intents than fit on a page, `Link` leads to the next one.',
    query: descriptionQuery,
    answer: serviceDescription(protocol),
    headers: paged,
  },
  'get-own-description': {
    tag: 'This gate',
    description:
      'Where agents begin: the gate in the form of a service description, with the intents of all services in the order of `intent_uid`, but for deprecated ones. If there are more than fit on a page, `Link` leads to the next one.',
    query: descriptionQuery,
    answer: ownDescription(protocol),
    headers: paged,
  },
  'get-api-catalog': {
    tag: 'This gate',
    description: 'For programs a link set (RFC 9727, RFC 9264), and at `/llms.txt` the same in words, for models.',
    answer: z.looseObject({ linkset: z.array(z.looseObject({ anchor: z.url() })) }),
    mediaType: 'application/linkset+json',
    headers: revision,
  },
  'get-jwks': {
    tag: 'This gate',
    description: 'A key is published before it signs. A copy may be kept for five minutes.',
    answer: keySet,
    headers: revision,
  },
  'get-openapi': { tag: 'This gate', description: 'OpenAPI 3.1.', answer: z.looseObject({ openapi: z.string() }), headers: revision },
  'get-docs': {
    tag: 'This gate',
    description: 'This reference, with the policy in plain words, to read and to try. It loads nothing from other hosts.',
    answer: z.string(),
    mediaType: 'text/html',
    headers: revision,
  },
  'get-root': { tag: 'This gate', description: 'Whoever accepts `text/html` is led to `/console`, anybody else to `/openapi.json`.' },
  'get-console': {
    tag: 'This gate',
    description:
      'The catalogue of intents, with a form for each, and for admins the console. It loads nothing from other hosts; what it shows it reads from the other endpoints.',
    answer: z.string(),
    mediaType: 'text/html',
    headers: revision,
  },
  'get-docs-asset': {
    tag: 'This gate',
    description:
      'Their names change with their content, so they may be cached for good. `policy.schema.json` is the JSON schema of policy files, for editors; it keeps its name.',
    answer: z.string(),
    mediaType: '*/*',
  },
  'get-health': { tag: 'This gate', description: 'Does not depend on the parts behind the API.', answer: health },
  'get-protected-resource': {
    tag: 'Sign-in',
    description: 'RFC 9728, at the place where clients that know `/mcp/sign-in` look.',
    answer: protectedResource,
    headers: revision,
  },
  'get-authorization-server': {
    tag: 'Sign-in',
    description: 'RFC 8414. The id of a client is the address of its description; programs on the machine of a person can register.',
    answer: authorizationServer,
    headers: revision,
  },
  authorize: {
    tag: 'Sign-in',
    description:
      "For browsers. Leads to the sign-in page of the user pool, then shows the policy. Refusals are shown as a page, until it is known that the redirect URI is the client's own.",
    query: authorizationParameters,
    answer: z.string(),
    mediaType: 'text/html',
    others: { 302: { description: 'To the sign-in page, or back to the client with a code or an error.' }, 400: refusedPage },
  },
  'finish-sign-in': {
    tag: 'Sign-in',
    description: 'For browsers, on their way back from the user pool to the page with the policy.',
    others: { 400: refusedPage },
  },
  'accept-policy': {
    tag: 'Sign-in',
    description: 'The form of the page with the policy. The answer leads on to the client, with a code that is valid for a minute.',
    body: acceptForm,
    bodyType: form,
    answer: z.string(),
    mediaType: 'text/html',
    others: { 303: { description: 'The policy has changed: to the page that shows it.' }, 400: refusedPage, 403: refusedPage },
  },
  'issue-token': {
    tag: 'Sign-in',
    description:
      'Takes a code once, and each refresh token once: one that is used again ends its family. The access token is a PAT. At `/oauth/revoke`, ends what a refresh token stands for (RFC 7009).',
    body: z.union([tokenForm, refreshForm, revocationForm]),
    bodyType: form,
    answer: tokenResponse,
    headers: limited,
    others: { 400: refusedToken, 401: refusedToken, 429: refusedToken, 503: refusedToken },
  },
  'register-client': {
    tag: 'Sign-in',
    description:
      'RFC 7591, for programs whose redirect URIs are http on 127.0.0.1, [::1] or localhost. Nothing is kept: the `client_id` says what was registered.',
    body: registrationRequest,
    answer: registrationResponse,
    others: { 400: refusedToken },
  },
  mcp: {
    tag: 'Discovery',
    description:
      'JSON-RPC messages of the Model Context Protocol, without sessions. `/mcp/sign-in`, with the setting `signIn`, is the same server for hosts that sign people in: it answers 401 where a tool needs a PAT. `/mcp` never does: there, that is a result with `isError` which says what to do.',
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    answer: z.union([z.object({ jsonrpc: z.literal('2.0'), id: rpcId, result: z.looseObject({}) }), rpcError]),
    others: {
      202: { description: 'A notification was taken.' },
      400: { description: 'A mistake in the protocol, or a refusal of the request.', answer: z.union([rpcError, errorBody]) },
      401: { description: 'At `/mcp/sign-in` only: a tool needs a PAT. `WWW-Authenticate` says where to get one.', answer: rpcError },
      404: { description: 'A method that there is not.', answer: z.union([rpcError, errorBody]) },
    },
  },
});
