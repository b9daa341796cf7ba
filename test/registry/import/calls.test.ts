import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { compileParameters } from '../../../functions/core/parameters/compile.ts';
import { buildRequest } from '../../../functions/core/relay/build-request.ts';
import type { Relay } from '../../../functions/core/relay/call.ts';
import { readDocument } from '../../../registry/import/document.ts';
import type { ImportPlan } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { callOf, callUpstream, openLocalRelay } from '../../support/call-upstream.ts';
import { type SeenRequest, startUpstream } from '../../support/upstream.ts';

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let relay: Relay;
let plan: ImportPlan;

beforeAll(async () => {
  upstream = await startUpstream((_, response) => response.writeHead(204).end());
  relay = openLocalRelay();
  const text = readFileSync(new URL('described/every-kind.yaml', import.meta.url), 'utf8');
  const document = readDocument(text.replace('BASE', `http://127.0.0.1:${upstream.port}`));
  const rules = { ports: [443], allowLoopback: true, ownHosts: [] };
  plan = planImport(document, { rules, registryUrl: 'https://gate.example', namespace: 'every.example' });
});

afterAll(async () => {
  relay.close();
  await upstream.stop();
});

/** Executes an intent with the components of a deployment. */
async function execute(slug: string, parameters: Record<string, unknown>): Promise<SeenRequest> {
  const intent = plan.intents.find(({ intent_uid }) => splitIntentUid(intent_uid).slug === slug);
  if (intent === undefined) throw new Error(`there is no intent ${slug}`);
  const { values, issues } = compileParameters(intent.input_parameters)(parameters);
  if (values === undefined) throw new Error(JSON.stringify(issues));
  const request = buildRequest({ ...intent }, values);
  const service = { service_id: 'every', ...plan.service };
  await callUpstream(relay, callOf(request.url, { request, service, intentUid: intent.intent_uid }));
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error('nothing was called');
  return seen;
}

test('the document becomes intents as a whole', () => {
  expect(plan.skipped).toEqual([]);
  expect(plan.service.headers).toEqual({ 'Api-Version': '2024-01' });
});

const everything = {
  text: 'a b&c=d',
  $top: 3,
  form: ['x', 'y,z'],
  'list[]': ['x', 'y'],
  commas: ['x', 'y,z'],
  spaces: ['x', 'y'],
  pipes: ['x', 'y'],
  deep: { a: 1, b: { c: [true, 'd'] } },
  spread: { lat: 1, lon: 2 },
  pair: { lat: 3, lon: 4 },
  json: { lat: 5 },
};

/** As in RFC 6570 and the styles of OpenAPI, with every character percent-encoded that a server might misinterpret. */
const writtenQuery = [
  'text=a%20b%26c%3Dd',
  '%24top=3',
  'form=x&form=y%2Cz',
  'list%5B%5D=x&list%5B%5D=y',
  'commas=x,y%2Cz',
  'spaces=x%20y',
  'pipes=x%7Cy',
  'deep%5Ba%5D=1&deep%5Bb%5D%5Bc%5D%5B0%5D=true&deep%5Bb%5D%5Bc%5D%5B1%5D=d',
  'lat=1&lon=2',
  'pair=lat,3,lon,4',
  'json=%7B%22lat%22%3A5%7D',
].join('&');

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

describe('calls', () => {
  test.each<{ slug: string; parameters: Record<string, unknown>; method: string; url: string; contentType?: string; body?: string }>([
    { slug: 'path', parameters: { id: 'a/b ?', ids: ['x', 'y,z'] }, method: 'GET', url: '/v1/path/a%2Fb%20%3F/x,y%2Cz/end.json' },
    { slug: 'query-of-get', parameters: everything, method: 'GET', url: `/v1/query?${writtenQuery}` },
    { slug: 'query-of-delete', parameters: everything, method: 'DELETE', url: `/v1/query?${writtenQuery}` },
    { slug: 'query-of-post', parameters: everything, method: 'POST', url: `/v1/query?${writtenQuery}` },
    {
      slug: 'query-beside-body',
      parameters: { ...everything, note: 'n' },
      method: 'PUT',
      url: `/v1/query?${writtenQuery}`,
      contentType: json,
      body: '{"note":"n"}',
    },
    { slug: 'header', parameters: { 'X-Tenant': 'acme' }, method: 'GET', url: '/v1/header' },
    {
      slug: 'json-members',
      parameters: { name: 'é', at: { lat: 1 } },
      method: 'POST',
      url: '/v1/json',
      contentType: json,
      body: '{"name":"é","at":{"lat":1}}',
    },
    { slug: 'json-members', parameters: { name: null }, method: 'POST', url: '/v1/json', contentType: json, body: '{"name":null}' },
    {
      slug: 'json-list',
      parameters: { body: [{ lat: 1 }, {}] },
      method: 'PUT',
      url: '/v1/json',
      contentType: json,
      body: '[{"lat":1},{}]',
    },
    {
      slug: 'merge-patch',
      parameters: { body: { a: null } },
      method: 'PATCH',
      url: '/v1/json',
      contentType: 'application/merge-patch+json',
      body: '{"a":null}',
    },
    {
      slug: 'delete-with-body',
      parameters: { ids: ['x'], force: true },
      method: 'DELETE',
      url: '/v1/json?force=true',
      contentType: json,
      body: '{"ids":["x"]}',
    },
    { slug: 'delete-with-body', parameters: { force: true }, method: 'DELETE', url: '/v1/json?force=true' },
    {
      slug: 'undescribed',
      parameters: { name: 'n', body: 'q', request_body: { any: ['thing'] } },
      method: 'POST',
      url: '/v1/json/n?body=q',
      contentType: 'application/vnd.things.v2+json',
      body: '{"any":["thing"]}',
    },
    {
      slug: 'same-names',
      parameters: { name: 'n', title: 'q', body: { title: 'b' } },
      method: 'PUT',
      url: '/v1/json/n?title=q',
      contentType: json,
      body: '{"title":"b"}',
    },
    {
      slug: 'form',
      parameters: {
        text: 'a b+c',
        names: ['x', 'y'],
        joined: ['x', 'y'],
        nested: { a: [{ lat: 1 }] },
        points: [{ lat: 2 }, { lon: 3 }],
        numbered: ['x', 'y'],
        packed: { lat: 4 },
        spread: { lat: 5, lon: 6 },
      },
      method: 'POST',
      url: '/v1/form',
      contentType: form,
      body: [
        'text=a%20b%2Bc',
        'names=x&names=y',
        'joined=x,y',
        'nested%5Ba%5D%5B0%5D%5Blat%5D=1',
        'points%5B0%5D%5Blat%5D=2&points%5B1%5D%5Blon%5D=3',
        'numbered%5B0%5D=x&numbered%5B1%5D=y',
        'packed=%7B%22lat%22%3A4%7D',
        'lat=5&lon=6',
      ].join('&'),
    },
    {
      slug: 'undescribed-form',
      parameters: { body: { a: 1, b: { c: 2 } } },
      method: 'PUT',
      url: '/v1/form',
      contentType: form,
      body: 'a=1&b%5Bc%5D=2',
    },
    { slug: 'text', parameters: { body: 'a,b\n1,"é"\n' }, method: 'POST', url: '/v1/text', contentType: 'text/csv', body: 'a,b\n1,"é"\n' },
    { slug: 'nothing', parameters: {}, method: 'PUT', url: '/v1/text' },
  ])('a call matches the document: $slug $parameters', async ({ slug, parameters, method, url, contentType, body = '' }) => {
    const { headers, ...seen } = await execute(slug, parameters);
    expect(seen).toEqual({ method, url, body });
    expect(headers).toMatchObject({ 'api-version': '2024-01' });
    expect(headers['content-type']).toBe(contentType);
    if (body !== '' || method !== 'GET') expect(headers['transfer-encoding']).toBeUndefined();
    if (body !== '') expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  test('the header fields of a call match the document, except that of the credential', async () => {
    const { headers } = await execute('header', { 'X-Tenant': 'acme', 'X-Count': 2, 'X-Tags': 'a,b' });
    expect(headers).toMatchObject({ 'x-tenant': 'acme', 'x-count': '2', 'x-tags': 'a,b', 'api-version': '2024-01' });
    expect(headers).not.toHaveProperty('authorization');
  });

  test('a call has a multipart form that a form parser can read', async () => {
    const file = Buffer.from('é\0\r\n').toString('base64');
    const typed = {
      photo: file,
      notes: file,
      pages: ['<a/>', '<b/>'],
      shape: { lat: 2 },
      file_content_type: 'image/jpeg',
      file_filename: 'é "1".jpg',
    };
    const { headers, body } = await execute('multipart', { title: 'a "b"\r\n--c', tags: ['x', 'y'], meta: { lat: 1 }, file, ...typed });
    const read = await new Response(body, { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();
    const entries = await Promise.all(
      [...read].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()]),
    );
    expect(entries).toEqual([
      ['title', 'a "b"\r\n--c'],
      ['tags', 'x'],
      ['tags', 'y'],
      ['meta', '{"lat":1}'],
      ['file', 'é\0\r\n'],
      ['photo', 'é\0\r\n'],
      ['notes', 'é\0\r\n'],
      ['pages', '<a/>'],
      ['pages', '<b/>'],
      ['shape', '{"lat":2}'],
    ]);
    const types = [...body.matchAll(/name="(\w+)".*\r\nContent-Type: (.*)\r\n/g)].map(([, ...part]) => part.join(' '));
    expect(types).toEqual([
      'meta application/json',
      'file image/jpeg',
      'photo image/png',
      'notes text/plain',
      'pages application/xml',
      'pages application/xml',
      'shape application/geo+json',
    ]);
    expect([read.get('file'), read.get('photo')]).toMatchObject([
      { name: 'é "1".jpg', type: 'image/jpeg' },
      { name: 'photo.png', type: 'image/png' },
    ]);
  });

  test('a call sends bytes unchanged', async () => {
    expect(await execute('upload', { body: Buffer.from('é\0').toString('base64') })).toMatchObject({
      headers: { 'content-type': 'image/png', 'content-length': '3' },
      body: 'é\0',
    });
  });
});
