import type * as z from 'zod';
import type { Exchange } from '../../client/http.ts';
import { intentPath } from '../../registry/read.ts';
import { splitIntentUid } from '../../schemas/intent-uid.ts';
import { type Check, check, type Expect } from './check.ts';
import { freshId, freshUid, type Gate, Unmet } from './gate.ts';
import { intentShape, type listShape, searchShape } from './shapes.ts';

type Query = Record<string, string | number>;

const searchPath = '/api/intents/search';
const search = ({ call }: Gate, query: Query): Promise<Exchange> => call('GET', searchPath, { query });

const uidsIn = ({ intents }: z.infer<typeof searchShape | typeof listShape>): string[] => intents.map(({ intent_uid }) => intent_uid);

/** Requests a page and checks its pagination. @returns its uids */
export async function expectPage(
  { call }: Gate,
  expect: Expect,
  path: string,
  shape: typeof searchShape | typeof listShape,
  query: { page?: number; page_size?: number } = {},
): Promise<string[] | undefined> {
  const answer = await call('GET', path, { query });
  const { request } = answer;
  const body = expect.success(answer, 200, shape);
  if (body === undefined) return undefined;
  const { page = 1, page_size: size = 10 } = query;
  const { total_results, total_pages, current_page, page_size } = body.pagination;
  const count = body.intents.length;
  const expected = Math.max(0, Math.min(size, total_results - (page - 1) * size));
  expect.that(current_page === page, `${request}: pagination.current_page is ${current_page}; expected ${page}`);
  expect.that(page_size === size, `${request}: pagination.page_size is ${page_size}; expected ${size}`);
  expect.that(
    total_pages === Math.ceil(total_results / size),
    `${request}: pagination.total_pages is ${total_pages}, which does not match ${total_results} results with ${size} per page`,
  );
  expect.that(count === expected, `${request}: contains ${count} intents; expected ${expected} of ${total_results}`);
  return uidsIn(body);
}

async function find(gate: Gate, expect: Expect, query: Query) {
  const answer = await search(gate, query);
  const body = expect.success(answer, 200, searchShape);
  return body && { request: answer.request, uids: uidsIn(body), total: body.pagination.total_results };
}

/** Checks that a search with a matching filter finds the intent. */
async function expectFound(gate: Gate, expect: Expect, query: Query, uid: string) {
  const found = await find(gate, expect, { ...query, page_size: 100 });
  // with more than 100 results, it may be on a later page
  if (found) expect.that(found.uids.includes(uid) || found.total > 100, `${found.request} does not find ${uid}, which matches`);
  return found;
}

async function describeKnown(gate: Gate): Promise<z.infer<typeof intentShape>> {
  const { intent_uid } = await gate.intent();
  const { data } = intentShape.safeParse((await gate.call('GET', intentPath(intent_uid))).body);
  if (data === undefined) throw new Unmet('needs the details of an intent');
  return data;
}

export const discoveryChecks: readonly Check[] = [
  check(
    'search-answer',
    '4.2 (1), 2.2, 2.7',
    'Search returns intents and pagination, by default the first page of 10',
    async (gate, expect) => void (await expectPage(gate, expect, searchPath, searchShape)),
  ),
  check('search-paging', '4.2 (1), 2.7, 8', 'Search returns the requested page, and its pagination is consistent', async (gate, expect) => {
    await expectPage(gate, expect, searchPath, searchShape, { page: 1, page_size: 1 });
    await expectPage(gate, expect, searchPath, searchShape, { page: 2, page_size: 1 });
    await expectPage(gate, expect, searchPath, searchShape, { page: 1, page_size: 100 });
  }),
  check('search-pages-differ', '4.2 (1), 2.7', 'Search returns no intent on two pages', async (gate, expect) => {
    const pages = [];
    for (const page of [1, 2, 3]) pages.push(searchShape.safeParse((await search(gate, { page, page_size: 2 })).body).data);
    const uids = pages.flatMap((page) => (page ? uidsIn(page) : []));
    expect.that(new Set(uids).size === uids.length, 'GET /api/intents/search: an intent occurs twice on pages 1 to 3 with 2 per page');
  }),
  check('search-wrong-page', '4.2 (1), 8', 'Search refuses a page or page size out of range', async (gate, expect) => {
    for (const page of [0, -1, 1.5, 'one']) expect.invalid(await search(gate, { page }));
    for (const page_size of [0, 101, 'ten']) expect.invalid(await search(gate, { page_size }));
  }),
  check('search-uid', '4.2 (1)', 'Search by uid finds exactly that intent', async (gate, expect) => {
    const { intent_uid } = await gate.intent();
    const found = await find(gate, expect, { uid: intent_uid });
    if (found) expect.that(found.uids.join() === intent_uid, `${found.request} returns ${found.uids.join(', ') || 'nothing'}`);
  }),
  check('search-namespace', '4.2 (1)', 'Search by namespace finds only intents of that namespace', async (gate, expect) => {
    const { intent_uid } = await gate.intent();
    const { namespace } = splitIntentUid(intent_uid);
    const found = await expectFound(gate, expect, { namespace }, intent_uid);
    for (const uid of found?.uids ?? []) {
      const isFitting = splitIntentUid(uid).namespace.toLowerCase() === namespace.toLowerCase();
      expect.that(isFitting, `${found?.request} returns ${uid}, which is in another namespace`);
    }
  }),
  check('search-filters', '4.2 (1)', 'Search finds an intent by its service name, name, description and tags', async (gate, expect) => {
    const { intent_uid, service_name, intent_name, description, tags = [] } = await describeKnown(gate);
    const filters: Query[] = [{ service_name }, { intent_name }, { description }];
    if (tags.length > 0) filters.push({ tags: tags.slice(0, 2).join(',') });
    for (const filter of filters) await expectFound(gate, expect, { uid: intent_uid, ...filter }, intent_uid);
  }),
  check('search-filter-out', '4.2 (1)', 'Search by words that no intent contains finds nothing', async (gate, expect) => {
    const word = freshId();
    for (const filter of ['uid', 'namespace', 'service_name', 'intent_name', 'description', 'tags']) {
      const found = await find(gate, expect, { [filter]: filter === 'uid' ? freshUid() : word });
      if (found) expect.that(found.uids.length === 0, `${found.request} returns ${found.uids.join(', ')}`);
    }
  }),
  check('search-query', '4.2 (1)', 'Search by a question with the words of an intent finds it', async (gate, expect) => {
    const { intent_uid, intent_name } = await describeKnown(gate);
    await expectFound(gate, expect, { query: intent_name, namespace: splitIntentUid(intent_uid).namespace }, intent_uid);
  }),
  check('details-answer', '4.2 (2), 2.2', 'Details describe the intent in the path', async (gate, expect) => {
    const { intent_uid, service_name } = await gate.intent();
    const details = await gate.call('GET', intentPath(intent_uid));
    const shown = expect.success(details, 200, intentShape);
    if (shown === undefined) return;
    expect.that(shown.intent_uid === intent_uid, `${details.request} returns the intent ${shown.intent_uid}`);
    expect.that(
      shown.service_name === service_name,
      `${details.request} returns the service name ${shown.service_name}; expected ${service_name}`,
    );
  }),
  check('details-unknown', '4.2 (2), 7.2', 'Details of an unknown intent are refused with 404', async (gate, expect) =>
    expect.notFound(await gate.call('GET', `/api/intents/${freshUid()}`)),
  ),
  check('details-malformed', '4.2 (2), 2.2', 'Details of an invalid intent_uid are refused with 400', async (gate, expect) => {
    for (const uid of ['no-uid', 'example.com:Upper-Case:v1', 'example.com:slug:1', 'example.com:slug'])
      expect.invalid(await gate.call('GET', intentPath(uid)));
  }),
];
