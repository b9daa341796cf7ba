import { checkRefusal } from './answers.ts';
import { type Check, inEach, segment } from './check.ts';
import type { CheckContext } from './context.ts';

/** The six writes, to records that do not exist. */
const writes = (context: CheckContext) => {
  const id = context.freshId();
  const uid = `conformance.example:${id}:v1`;
  return [
    { method: 'POST', path: '/api/services', body: context.serviceBody() },
    { method: 'PUT', path: `/api/services/${id}`, body: context.serviceBody() },
    { method: 'DELETE', path: `/api/services/${id}` },
    { method: 'POST', path: `/api/services/${id}/intents`, body: context.intentBody() },
    { method: 'PUT', path: `/api/intents/${segment(uid)}`, body: { ...context.intentBody(), intent_uid: uid } },
    { method: 'DELETE', path: `/api/intents/${segment(uid)}` },
  ];
};

const checkWrites = (context: CheckContext, bearer: string | undefined, statuses: number[]) =>
  inEach(writes(context), async ({ method, path, body }) => {
    const exchange = await context.call(method, path, { bearer, body });
    if (method === 'POST' && path === '/api/services') context.remember(exchange, path);
    const wanted = statuses.includes(exchange.status) ? exchange.status : (statuses[0] ?? 401);
    return checkRefusal(exchange, wanted, wanted === 403 ? 'FORBIDDEN' : 'UNAUTHORIZED');
  });

export const credentialChecks: readonly Check[] = [
  {
    id: 'admin-without-token',
    clause: '5.2',
    title: 'No write is done without a token',
    run: (context) => checkWrites(context, undefined, [401]),
  },
  {
    id: 'admin-garbage-token',
    clause: '5.2',
    title: 'No write is done with something that is no admin token',
    run: (context) => checkWrites(context, 'garbage', [401]),
  },
  {
    id: 'admin-pat',
    clause: '5.2',
    title: 'No write is done with a PAT',
    run: async (context) => checkWrites(context, await context.pat(), [401, 403]),
  },
  {
    id: 'service-read-unknown',
    clause: '4.2 (9, 10), 7.2',
    title: 'Reading a service that does not exist is 404, and so is listing its intents',
    run: (context) =>
      inEach(['', '/intents'], async (rest) =>
        checkRefusal(await context.call('GET', `/api/services/${context.freshId()}${rest}`), 404, 'NOT_FOUND'),
      ),
  },
];
