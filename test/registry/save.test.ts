import { describe, expect, test } from '@jest/globals';
import { openApi } from '../../registry/api.ts';
import { publishPolicy } from '../../registry/policy/publish.ts';
import { createIntent, createService, replaceService } from '../../registry/save.ts';
import { type Intent, toFullIntent } from '../../schemas/intent.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { intentOf } from '../support/records.ts';

const url = 'https://gate.example';
const wanted = { service_name: 'Tides', service_url: 'https://tides.example', description: 'Tides of harbours' };
const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const record = { service_id: id, ...wanted };
const intent = intentOf('tides.example:list:v1');
const full = toFullIntent({ ...intent, service_id: id, rev: 1 } as Intent, 'Tides');

/** A gate that has these records, and whose first answer to a change is lost. */
function openLosing(service: object | undefined, known?: object) {
  let isLost = false;
  const sent: string[] = [];
  const notFound = { error: { code: 'NOT_FOUND', message: 'Not found.', details: {} } };
  const answers: Record<string, unknown> = {
    [`/api/services/${id}`]: service,
    '/api/services': { services: service ? [{ ...service, intents: 0 }] : [], pagination: { current_page: 1, page_size: 100 } },
    [`/api/services/${id}/intents`]: { intents: [], pagination: { current_page: 1, page_size: 100, total_results: 0, total_pages: 0 } },
    [`/api/intents/${encodeURIComponent(intent.intent_uid)}`]: known,
  };
  const fetch = async (address: string, { method }: RequestInit) => {
    const { pathname } = new URL(address);
    if (method === 'GET') {
      const body = answers[pathname];
      return Response.json(body ?? notFound, { status: body === undefined ? 404 : 200 });
    }
    sent.push(`${method} ${pathname}`);
    if (!isLost) {
      isLost = true;
      throw new TypeError('fetch failed');
    }
    if (method === 'DELETE') return Response.json(notFound, { status: 404 });
    return Response.json({ error: { code: 'CONFLICT', message: 'It exists.', details: {} } }, { status: 409 });
  };
  const api = openApi(
    url,
    { get: async () => 'token' },
    { fetch: fetch as typeof globalThis.fetch, isRetriedUnseen: true, sleep: async () => {} },
  );
  return { api, sent };
}

const lost = 'It exists. An earlier attempt may have made the change.';

describe('a change whose answer was lost', () => {
  test('a record that is as wanted counts as saved', async () => {
    const replaced = openLosing(record);
    expect(await replaceService(replaced.api, id, wanted, { 'If-Match': '"1"' })).toEqual(record);
    expect(replaced.sent).toEqual(Array(2).fill(`PUT /api/services/${id}`));
    expect(await createService(openLosing(record).api, wanted)).toEqual({ saved: record, isNew: false });
    expect(await createIntent(openLosing(record, full).api, id, intent)).toMatchObject({ intent_uid: intent.intent_uid });
    await expect(createIntent(openLosing(record, { ...full, description: 'Another' }).api, id, intent)).rejects.toMatchObject({
      status: 409,
    });
  });

  test.each<[string, object | undefined]>([
    ['another record', { ...record, description: 'Somebody else has changed it' }],
    ['no record', undefined],
  ])('the refusal says that it may have been made: %s', async (_, service) => {
    const { api } = openLosing(service);
    await expect(replaceService(api, id, wanted, {})).rejects.toMatchObject({ status: 409, message: lost });
    await expect(createService(openLosing(service).api, wanted)).rejects.toMatchObject({ status: 409, message: lost });
    await expect(createIntent(openLosing(service).api, id, intent)).rejects.toMatchObject({ status: 409, message: lost });
  });

  test.each<[string, unknown, string]>([
    ['a lost answer', new TypeError('fetch failed'), 'The change may have been made. Look at the record before you repeat it.'],
    [
      'no connection',
      new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }),
      'Check the address, and whether the gate is running.',
    ],
  ])('the first request of a command says whether a change may have been made: %s', async (_, failure, advice) => {
    const api = openApi(url, { get: async () => 'token' }, { fetch: () => Promise.reject(failure), isRetriedUnseen: false });
    await expect(api.call('POST', '/api/services', { body: wanted, isAdmin: true })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: `Nothing answers at ${url}. ${advice}`,
    });
    await expect(api.call('GET', '/api/services', { isAdmin: true })).rejects.toMatchObject({
      message: `Nothing answers at ${url}. Check the address, and whether the gate is running.`,
    });
  });

  test.each([
    [502, ' The change may have been made. Look at the record before you repeat it.'],
    [200, ' The change may have been made. Look at the record before you repeat it.'],
    [404, ''],
  ])('an answer %i of a proxy says whether a change may have been made', async (status, advice) => {
    const api = openApi(url, { get: async () => 'token' }, { fetch: async () => new Response('<html>', { status }) });
    await expect(api.call('POST', '/api/services', { body: wanted, isAdmin: true })).rejects.toMatchObject({
      message: `POST /api/services was answered ${status}, but not in the specified format. Is there an Intent Gate at this address, and of the same version?${advice}`,
    });
  });

  const refusalOf = (status: number, details = {}) =>
    Response.json({ error: { code: 'CONFLICT', message: 'It is so.', details } }, { status });

  test.each<[string, Response[], object | undefined]>([
    ['a change that ran out of time and then met itself', [refusalOf(503), refusalOf(409)], { status: 409, mayBeDone: true }],
    [
      'a change that was not made and then met another',
      [refusalOf(503, { outcome: 'not_sent' }), refusalOf(409)],
      { status: 409, mayBeDone: false },
    ],
    ['a deletion that ran out of time and then found nothing', [refusalOf(503), refusalOf(404)], undefined],
  ])('%s says what has become of it', async (what, answers, refused) => {
    const fetch = async () => answers.shift() ?? Promise.reject(new Error('asked again'));
    const api = openApi(url, { get: async () => 'token' }, { fetch, sleep: async () => {} });
    const changed = api.call(what.includes('deletion') ? 'DELETE' : 'POST', '/api/services', { isAdmin: true });
    if (refused) await expect(changed).rejects.toMatchObject(refused);
    else expect(await changed).toMatchObject({ status: 404 });
  });

  test('an answer of a proxy to the repetition of a change says that the change may have been made', async () => {
    const answers = [() => Promise.reject(new TypeError('fetch failed')), async () => new Response('<html>', { status: 404 })];
    const fetch = () => answers.shift()?.() ?? Promise.reject(new Error('asked again'));
    const api = openApi(url, { get: async () => 'token' }, { fetch, isRetriedUnseen: true, sleep: async () => {} });
    await expect(api.call('POST', '/api/services', { body: wanted, isAdmin: true })).rejects.toMatchObject({
      message: expect.stringMatching(/^POST \/api\/services was answered 404, .* The change may have been made\./),
    });
  });

  test.each<[string, string, number]>([
    ['is in force', 'wanted', 7],
    ['is not in force', 'other', 0],
  ])('a policy that %s after its publication was not answered', async (_, inForce, seq) => {
    const requests: string[] = [];
    const entryOf = (number: number, of: string, digest_after: string) => ({
      seq: number,
      at: '2027-03-01T11:00:00Z',
      actor: { subject: 's' },
      request_id: 'r',
      changes: [{ kind: 'policy', id: of, action: 'publish', digest_after }],
      previous: null,
    });
    // the dry run counts a trial that began afterwards
    const told = { digest: 'wanted', version: 'v', seq: 8, changes: [], agents: 0, warnings: [] };
    const conflict = { error: { code: 'CONFLICT', message: 'It exists.', details: {} } };
    const fetch = async (address: string, { method, headers }: RequestInit) => {
      const { pathname, search } = new URL(address);
      requests.push(`${method} ${pathname}${search}`);
      if (pathname === '/api/changes')
        return Response.json({
          entries: [entryOf(8, 'trial', 'v'), entryOf(7, 'policy', 'v')].slice(search.includes('id=policy') ? 1 : 0),
          head: { seq: 8, digest: 'd' },
        });
      if (method === 'GET') return Response.json(openPolicy(loadPolicyTemplate())(url).policy, { headers: { ETag: `"${inForce}"` } });
      if (search !== '') return Response.json({ ...told, digest: 'wanted' });
      if (requests.length === 1) throw new TypeError('fetch failed');
      expect(new Headers(headers).get('if-match')).toBe('"before"');
      return Response.json(conflict, { status: 409 });
    };
    const api = openApi(
      url,
      { get: async () => 'token' },
      { fetch: fetch as typeof globalThis.fetch, isRetriedUnseen: true, sleep: async () => {} },
    );
    const published = publishPolicy(api, { uid: 'x' }, '"before"');
    if (seq > 0) expect(await published).toEqual({ ...told, seq });
    else await expect(published).rejects.toMatchObject({ status: 409, message: lost });
  });

  test('a deletion that finds nothing has been made', async () => {
    const { api } = openLosing(undefined);
    await api.call('DELETE', `/api/services/${id}`, { isAdmin: true });
    // nobody knows who made this one
    await expect(api.call('DELETE', `/api/services/${id}`, { isAdmin: true })).rejects.toMatchObject({
      status: 404,
      message: 'Not found.',
    });
  });
});
