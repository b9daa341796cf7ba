import type * as z from 'zod';
import type { Exchange } from '../../client/http.ts';
import { splitIntentUid } from '../../schemas/intent-uid.ts';
import { checkAnswer, checkRefusal } from './answers.ts';
import { type Check, inEach, segment } from './check.ts';
import { type CheckContext, Unmet } from './context.ts';
import { intentShape, type paginationShape, searchShape } from './shapes.ts';

type Pagination = z.infer<typeof paginationShape>;

const search = (context: CheckContext, query: Record<string, string>): Promise<Exchange> => {
  const text = new URLSearchParams(query).toString();
  return context.call('GET', `/api/intents/search${text && `?${text}`}`);
};

const uidsIn = ({ body }: Exchange): string[] => (searchShape.safeParse(body).data?.intents ?? []).map(({ intent_uid }) => intent_uid);

/** What is wrong with the numbers of a page, which have to be consistent. */
export function checkPagination({ request, body }: Exchange, page: number, pageSize: number, resultCount: number): string[] {
  const { total_results, total_pages, current_page, page_size } = (body as { pagination: Pagination }).pagination;
  const expected = Math.max(0, Math.min(pageSize, total_results - (page - 1) * pageSize));
  return [
    ...(current_page === page ? [] : [`${request}: pagination.current_page is ${current_page}, but page ${page} was asked for`]),
    ...(page_size === pageSize ? [] : [`${request}: pagination.page_size is ${page_size}, but should be ${pageSize}`]),
    ...(total_pages === Math.ceil(total_results / pageSize)
      ? []
      : [`${request}: pagination.total_pages is ${total_pages}, which does not go with ${total_results} results of ${pageSize} a page`]),
    ...(resultCount === expected
      ? []
      : [`${request}: contains ${resultCount} intents, but should contain ${expected} of ${total_results}`]),
  ];
}

async function checkPage(context: CheckContext, query: Record<string, string>, page: number, pageSize: number): Promise<string[]> {
  const found = await search(context, query);
  const findings = checkAnswer(found, 200, searchShape);
  return findings.length > 0 ? findings : checkPagination(found, page, pageSize, uidsIn(found).length);
}

/** Whether a filter that fits an intent lets it through. */
async function checkFilter(context: CheckContext, query: Record<string, string>, uid: string): Promise<string[]> {
  const found = await search(context, { ...query, page_size: '100' });
  const findings = checkAnswer(found, 200, searchShape);
  if (findings.length > 0) return findings;
  const isBeyondPage = searchShape.parse(found.body).pagination.total_results > 100;
  return uidsIn(found).includes(uid) || isBeyondPage ? [] : [`${found.request} does not find ${uid}, which fits`];
}

const wrongPages: Record<string, string>[] = [
  { page: '0' },
  { page: '-1' },
  { page: '1.5' },
  { page: 'one' },
  { page_size: '0' },
  { page_size: '101' },
  { page_size: 'ten' },
];

export const discoveryChecks: readonly Check[] = [
  {
    id: 'search-answer',
    clause: '4.2 (1), 2.2, 2.7',
    title: 'Search answers intents and pagination, by default page 1 of 10 a page',
    run: (context) => checkPage(context, {}, 1, 10),
  },
  {
    id: 'search-paging',
    clause: '4.2 (1), 2.7, 8',
    title: 'Search gives the page that is asked for, and its numbers agree',
    run: (context) =>
      inEach(
        [
          { page: '1', page_size: '1' },
          { page: '2', page_size: '1' },
          { page: '1', page_size: '100' },
        ],
        (query) => checkPage(context, query, Number(query.page), Number(query.page_size)),
      ),
  },
  {
    id: 'search-pages-differ',
    clause: '4.2 (1), 2.7',
    title: 'Search shows no intent on two pages',
    run: async (context) => {
      const pages = [];
      for (const page of ['1', '2', '3']) pages.push(await search(context, { page, page_size: '2' }));
      const uids = pages.flatMap(uidsIn);
      return new Set(uids).size === uids.length ? [] : ['GET /api/intents/search: pages 1 to 3 of 2 a page hold an intent twice'];
    },
  },
  {
    id: 'search-wrong-page',
    clause: '4.2 (1), 8',
    title: 'Search refuses pages and page sizes out of bounds',
    run: (context) => inEach(wrongPages, async (query) => checkRefusal(await search(context, query), 400, 'INVALID_PARAMETER')),
  },
  {
    id: 'search-uid',
    clause: '4.2 (1)',
    title: 'Search by uid finds that intent and no other',
    run: async (context) => {
      const { intent_uid } = await context.intent();
      const found = await search(context, { uid: intent_uid });
      const findings = checkAnswer(found, 200, searchShape);
      if (findings.length > 0) return findings;
      const uids = uidsIn(found);
      return uids.length === 1 && uids[0] === intent_uid ? [] : [`${found.request} finds ${uids.join(', ') || 'nothing'}`];
    },
  },
  {
    id: 'search-namespace',
    clause: '4.2 (1)',
    title: 'Search by namespace finds intents of that namespace and no others',
    run: async (context) => {
      const { intent_uid } = await context.intent();
      const { namespace } = splitIntentUid(intent_uid);
      const found = await search(context, { namespace, page_size: '100' });
      const strangers = uidsIn(found).filter((uid) => splitIntentUid(uid).namespace.toLowerCase() !== namespace.toLowerCase());
      return [
        ...(await checkFilter(context, { namespace }, intent_uid)),
        ...strangers.map((uid) => `${found.request} finds ${uid}, which is of another namespace`),
      ];
    },
  },
  {
    id: 'search-filters',
    clause: '4.2 (1)',
    title: 'Search by service name, intent name, description and tags finds an intent by each of its own',
    run: async (context) => {
      const { intent_uid, service_name, intent_name, description, tags = [] } = await describeKnown(context);
      const filters: Record<string, string>[] = [{ service_name }, { intent_name }, { description }];
      if (tags.length > 0) filters.push({ tags: tags.slice(0, 2).join(',') });
      return inEach(filters, (filter) => checkFilter(context, { uid: intent_uid, ...filter }, intent_uid));
    },
  },
  {
    id: 'search-filter-out',
    clause: '4.2 (1)',
    title: 'Search by words that no intent has finds nothing',
    run: async (context) => {
      const word = context.freshId();
      return inEach(['uid', 'namespace', 'service_name', 'intent_name', 'description', 'tags'], async (filter) => {
        const value = filter === 'uid' ? `conformance.example:${word}:v1` : word;
        const found = await search(context, { [filter]: value });
        const findings = checkAnswer(found, 200, searchShape);
        return findings.length > 0 || uidsIn(found).length === 0 ? findings : [`${found.request} finds ${uidsIn(found).join(', ')}`];
      });
    },
  },
  {
    id: 'search-query',
    clause: '4.2 (1)',
    title: 'Search by a question in the words of an intent finds it',
    run: async (context) => {
      const { intent_uid, intent_name } = await describeKnown(context);
      return checkFilter(context, { query: intent_name, namespace: splitIntentUid(intent_uid).namespace }, intent_uid);
    },
  },
  {
    id: 'details-answer',
    clause: '4.2 (2), 2.2',
    title: 'Details answer the intent that the path names',
    run: async (context) => {
      const { intent_uid, service_name } = await context.intent();
      const details = await context.call('GET', `/api/intents/${segment(intent_uid)}`);
      const findings = checkAnswer(details, 200, intentShape);
      if (findings.length > 0) return findings;
      const shown = intentShape.parse(details.body);
      return [
        ...(shown.intent_uid === intent_uid ? [] : [`${details.request} shows the intent ${shown.intent_uid}`]),
        ...(shown.service_name === service_name
          ? []
          : [`${details.request} shows the service name ${shown.service_name}, not ${service_name}`]),
      ];
    },
  },
  {
    id: 'details-unknown',
    clause: '4.2 (2), 7.2',
    title: 'Details of an intent that does not exist are 404',
    run: async (context) =>
      checkRefusal(await context.call('GET', `/api/intents/conformance.example:${context.freshId()}:v1`), 404, 'NOT_FOUND'),
  },
  {
    id: 'details-malformed',
    clause: '4.2 (2), 2.2',
    title: 'Details of what is no intent_uid are 400',
    run: (context) =>
      inEach(['no-uid', 'example.com:Upper-Case:v1', 'example.com:slug:1', 'example.com:slug'], async (uid) =>
        checkRefusal(await context.call('GET', `/api/intents/${segment(uid)}`), 400, 'INVALID_PARAMETER'),
      ),
  },
];

async function describeKnown(context: CheckContext): Promise<z.infer<typeof intentShape>> {
  const { intent_uid } = await context.intent();
  const details = await context.call('GET', `/api/intents/${segment(intent_uid)}`);
  const { data } = intentShape.safeParse(details.body);
  if (data === undefined) throw new Unmet('needs the details of an intent');
  return data;
}
