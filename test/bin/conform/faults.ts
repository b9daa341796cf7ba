import {
  admit,
  any,
  type Body,
  bodyWith,
  bodyWithout,
  change,
  codeOf,
  errorWith,
  firstAnswer,
  ignore,
  isExecution,
  isIntent,
  isIssue,
  isList,
  isSearch,
  isService,
  misread,
  type PlantedFault,
  paginationWith,
  pretendToDelete,
  reclaim,
  requery,
  rewrite,
} from './fault-kinds.ts';

export const faults: PlantedFault[] = [
  {
    name: 'unknown paths are answered in plain text',
    after: change(
      ({ path }) => !/intents|services|pat|policy/.test(path),
      404,
      () => ({ status: 404, body: 'Not Found' }),
    ),
    found: ['path-unknown'],
  },
  { name: 'other methods are not found', after: change(any, 405, errorWith(404, 'NOT_FOUND')), found: ['method-not-allowed'] },
  {
    name: 'errors have no message',
    after: change(isExecution, 401, () => ({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } })),
    found: ['execute-without-pat', 'execute-garbage-pat', 'execute-tampered-pat'],
  },
  {
    name: 'JSON is sent as HTML',
    after: change(
      ({ path }) => path === '/api/policy',
      200,
      (answer) => ({ ...answer, headers: { 'Content-Type': 'text/html' } }),
    ),
    found: ['policy-answer'],
  },
  { name: 'any media type is read', before: (request) => ({ ...request, mediaType: 'application/json' }), found: ['media-type'] },
  {
    name: 'malformed JSON breaks the server',
    after: (request, answer) =>
      isIssue(request) && !request.text.startsWith('{"') && answer.status === 400 ? errorWith(500, 'INTERNAL_SERVER_ERROR')() : answer,
    found: ['malformed-json'],
  },

  {
    name: 'search shows pages of another size by default',
    before: (request) => {
      if (!isSearch(request) || request.query.has('page_size')) return request;
      const query = new URLSearchParams(request.query);
      query.set('page_size', '2');
      return { ...request, query };
    },
    found: ['search-answer'],
  },
  {
    name: 'search counts its pages wrongly',
    after: change(
      isSearch,
      200,
      paginationWith(({ total_pages = 0 }) => ({ total_pages: total_pages + 1 })),
    ),
    found: ['search-answer', 'search-paging'],
  },
  {
    name: 'search shows page 1 whatever page is asked for',
    before: ignore('page'),
    found: ['search-paging', 'search-pages-differ', 'search-wrong-page', 'intent-list'],
  },
  {
    name: 'search takes any page size',
    before: requery('page_size', (size) => String(Math.min(Math.max(Number(size) || 10, 1), 100))),
    found: ['search-wrong-page'],
  },
  { name: 'search ignores uid', before: ignore('uid'), found: ['search-uid', 'search-filter-out'] },
  { name: 'search ignores the namespace', before: ignore('namespace'), found: ['search-namespace', 'search-filter-out'] },
  { name: 'search finds nothing by service name', before: misread('service_name'), found: ['search-filters'] },
  { name: 'search finds nothing by questions', before: misread('query'), found: ['search-query'] },
  {
    name: 'details leave out the service name',
    after: change(isIntent, 200, bodyWithout('service_name')),
    found: ['details-answer', 'intent-details'],
  },
  {
    name: 'details of an unknown intent are empty',
    after: change(isIntent, 404, (answer, { method }) => (method === 'GET' ? { status: 200, body: {} } : answer)),
    found: ['details-unknown', 'intent-delete'],
  },
  {
    name: 'details of what is no uid are not found',
    after: change(
      ({ path, method }) => method === 'GET' && path.startsWith('/api/intents/'),
      400,
      (answer, request) => (isSearch(request) ? answer : errorWith(404, 'NOT_FOUND')()),
    ),
    found: ['details-malformed'],
  },

  {
    name: 'the policy has another type',
    after: change(({ path }) => path === '/api/policy', 200, bodyWith({ type: 'Contract' })),
    found: ['policy-answer', 'pat-issue'],
  },
  {
    name: 'the PAT has another name',
    after: change(isIssue, 200, (answer) => ({ ...answer, body: { pat: (answer.body as Body)['proto-pat'] } })),
    found: ['pat-issue'],
  },
  { name: 'every agent gets the same PAT', after: firstAnswer(), found: ['pat-unique'] },
  {
    name: 'the PAT has expired',
    after: reclaim((claims) => ({ ...claims, exp: 1 })),
    found: [
      'pat-claims',
      'execute-malformed',
      'execute-unknown',
      'execute-other-version',
      'execute-prohibited',
      'execute-answer',
      'execute-wrong-parameters',
      'execute-rate-limit',
    ],
  },
  {
    name: 'PAT requests may lack their members',
    after: change(isIssue, 400, (answer) =>
      codeOf(answer) === 'INVALID_PARAMETER' ? { status: 200, body: { 'proto-pat': 'a.b.c' } } : answer,
    ),
    found: ['malformed-json', 'pat-missing-member', 'pat-wrong-type'],
  },
  {
    name: "others' signatures are taken",
    after: change(isIssue, 400, (answer) =>
      codeOf(answer) === 'INVALID_SIGNATURE' ? { status: 200, body: { 'proto-pat': 'a.b.c' } } : answer,
    ),
    found: ['pat-foreign-signature'],
  },
  {
    name: 'altered policies are called bad signatures',
    after: change(isIssue, 403, errorWith(400, 'INVALID_SIGNATURE')),
    found: ['pat-altered-policy'],
  },

  { name: 'anybody may write', before: admit((bearer) => bearer === undefined), found: ['admin-without-token'] },
  { name: 'any token is that of an admin', before: admit((bearer) => bearer !== undefined), found: ['admin-garbage-token', 'admin-pat'] },

  {
    name: 'a service has no id',
    after: change(({ path }) => path === '/api/services', 201, bodyWithout('service_id')),
    found: ['service-create'],
  },
  {
    name: 'a service needs no description',
    before: rewrite(
      ({ method, path, bearer }) => method === 'POST' && path === '/api/services' && bearer === 'the-admin',
      (body) => ({ description: 'None.', ...body }),
    ),
    found: ['service-create-missing'],
  },
  {
    name: 'two services share a name',
    after: change(
      ({ path }) => path === '/api/services',
      409,
      () => ({ status: 201, body: {} }),
    ),
    found: ['service-create-duplicate'],
  },
  {
    name: 'a service forgets its links',
    after: change(isService, 200, bodyWithout('policy_url', 'service_logo_url')),
    found: ['service-read'],
  },
  {
    name: 'updating a service changes nothing',
    before: rewrite(
      (request) => isService(request) && request.method === 'PUT',
      (body) => ({ ...body, ...(body.description !== undefined && { description: 'As before.' }) }),
    ),
    found: ['service-update'],
  },
  {
    name: 'deleting a service does nothing',
    ...pretendToDelete(isService),
    found: ['admin-without-token', 'admin-garbage-token', 'admin-pat', 'service-delete'],
  },
  {
    name: 'an unknown service is created by its update',
    after: change(isService, 404, (answer, { method }) => (method === 'PUT' ? { status: 201, body: {} } : answer)),
    found: ['service-unknown'],
  },
  {
    name: 'an unknown service has no intents',
    after: change(isList, 404, () => ({
      status: 200,
      body: { intents: [], pagination: { total_results: 0, total_pages: 0, current_page: 1, page_size: 10 } },
    })),
    found: ['service-read-unknown'],
  },

  {
    name: 'an intent of any form is created',
    after: change(
      ({ method, path }) => method === 'POST' && path.endsWith('/intents'),
      400,
      () => ({ status: 201, body: {} }),
    ),
    found: ['intent-create-wrong'],
  },
  {
    name: 'an intent is created over another',
    after: change(
      ({ path }) => path.endsWith('/intents'),
      409,
      () => ({ status: 201, body: {} }),
    ),
    found: ['intent-create-duplicate'],
  },
  {
    name: 'an intent gets another uid',
    before: rewrite(
      ({ method, path, text }) => method === 'POST' && path.endsWith('/intents') && text.includes('"intent_uid":"conformance.'),
      (body) => ({ ...body, intent_uid: String(body.intent_uid).replace(/:v1$/, 'x:v1') }),
    ),
    found: [
      'search-uid',
      'search-namespace',
      'details-answer',
      'intent-create',
      'intent-details',
      'intent-list',
      'intent-update',
      'execute-other-version',
      'execute-answer',
      'execute-wrong-parameters',
      'execute-rate-limit',
    ],
  },
  {
    name: 'updating an intent loses its tags',
    before: rewrite(
      (request) => isIntent(request) && request.method === 'PUT',
      (body) => ({ ...body, tags: [] }),
    ),
    found: ['intent-update'],
  },
  {
    name: 'deleting an intent does nothing',
    ...pretendToDelete(isIntent),
    found: ['admin-without-token', 'admin-garbage-token', 'admin-pat', 'intent-delete'],
  },
  {
    name: 'an unknown intent is created by its update',
    after: change(isIntent, 404, (answer, { method }) => (method === 'PUT' ? { status: 201, body: {} } : answer)),
    found: ['intent-unknown'],
  },

  {
    name: 'altered PATs are taken',
    after: change(isExecution, 401, (answer, { bearer }) => (bearer?.startsWith('ey') ? { status: 200, body: {} } : answer)),
    found: ['execute-tampered-pat'],
  },
  { name: 'prohibitions are ignored', after: change(isExecution, 403, errorWith(404, 'NOT_FOUND')), found: ['execute-prohibited'] },
  { name: 'other versions are not found', after: change(isExecution, 409, errorWith(404, 'NOT_FOUND')), found: ['execute-other-version'] },
  {
    name: 'what is executed answers nothing',
    after: change(isExecution, 200, () => ({ status: 200, body: {} })),
    found: ['execute-answer'],
  },
  {
    name: 'what is executed takes any parameters',
    after: change(isExecution, 400, (answer, { text }) =>
      /"text":7|"parameters":\{\}/.test(text) && text.includes(':v1') ? { status: 200, body: { words: 1 } } : answer,
    ),
    found: ['execute-wrong-parameters'],
  },
  {
    name: 'an execution needs no parameters at all',
    before: rewrite(
      (request) => isExecution(request),
      (body) => ({ parameters: { text: 'None.' }, ...body }),
    ),
    found: ['execute-malformed'],
  },
  {
    name: 'the rate limit is not kept',
    after: change(isExecution, 429, () => ({ status: 200, body: { words: 3 } })),
    found: ['execute-rate-limit'],
  },
];
