import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { buildRequest, type UpstreamRequest } from '../../../../functions/core/relay/build-request.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import type { IntentEndpoint } from '../../../../schemas/intent.ts';
import { parseExact } from '../../../../schemas/number.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

function build(
  method: IntentEndpoint['method'],
  path: string,
  values: Record<string, unknown>,
  contentType = 'application/json',
): UpstreamRequest {
  const names = new Set([...Object.keys(values), ...(path.match(/[\w.-]+(?=[,}])/g) ?? [])]);
  return buildRequest(
    {
      endpoint: { url: `https://api.example.com${path}`, method, content_type: contentType },
      input_parameters: [...names].map((name) => ({ name, type: 'any' })),
    },
    values,
  );
}

const origin = 'https://api.example.com';

test.each<[string, Record<string, unknown>, string]>([
  ['', {}, '/'],
  ['/a', { q: 'x' }, '/a?q=x'],
  ['/a?', { q: 'x' }, '/a?q=x'],
  ['/a?b=c', { q: 'x' }, '/a?b=c&q=x'],
  ['/a', { q: '' }, '/a?q='],
  ['/a', { q: "a b&c=d+e/f?g#h%20'()*!é😀" }, '/a?q=a%20b%26c%3Dd%2Be%2Ff%3Fg%23h%2520%27%28%29%2A%21%C3%A9%F0%9F%98%80'],
  ['/a', { 'a b': 1, 'ä[]': true }, '/a?a%20b=1&%C3%A4%5B%5D=true'],
  ['/a', { n: -1.5, big: 1e21, yes: false, none: null }, '/a?n=-1.5&big=1000000000000000000000&yes=false&none=null'],
  ['/a', { n: parseExact('9007199254740993'), deep: parseExact('[[1.10]]') }, '/a?n=9007199254740993&deep=%5B1.10%5D'],
  ['/a{?n}', { n: parseExact('1e400') }, '/a?n=1e400'],
  ['/a/{n}', { n: parseExact('[1e2,-1.5E+3,0e1,1e-2,2.0]') }, '/a/100,-1500,0,1e-2,2.0'],
  ['/a', { n: parseExact('[1e2]'), o: parseExact('{"y":1e20}') }, '/a?n=100&y=100000000000000000000'],
  ['/a', { ids: [1, 'b', 'c,d'] }, '/a?ids=1&ids=b&ids=c%2Cd'],
  ['/a', { ids: [] }, '/a'],
  ['/a', { ids: [[1, 2], { x: 'y' }] }, '/a?ids=%5B1%2C2%5D&ids=%7B%22x%22%3A%22y%22%7D'],
  ['/a', { where: { R: 100, G: [1], B: 'x' } }, '/a?R=100&G=%5B1%5D&B=x'],
  ['/a', { where: {} }, '/a'],
  ['{?q}', { q: 'x' }, '/?q=x'],
  ['{?q}', {}, '/'],
  ['/a{?q,r}', { q: 'x', r: 'y' }, '/a?q=x&r=y'],
  ['/a{?q,r}', { r: 'y' }, '/a?r=y'],
  ['/a{?ids}', { ids: ['a', 'b,c'] }, '/a?ids=a,b%2Cc'],
  ['/a{?ids,q}', { ids: [], q: '' }, '/a?q='],
  ['/a{?where}', { where: { x: 1, y: 'é' } }, '/a?where=x,1,y,%C3%A9'],
  ['/a?b=c{&q}', { q: 'x' }, '/a?b=c&q=x'],
  ['/a{&q}', { q: 'x', r: 'y' }, '/a?q=x&r=y'],
  ['/a?q={q}&r=s', { q: 'a&b', t: 'u' }, '/a?q=a%26b&r=s&t=u'],
  ['/a?q={q}', {}, '/a?q='],
])('the query of GET and DELETE is written: %s with %j', (path, values, expected) => {
  expect(build('GET', path, values)).toEqual({ method: 'GET', url: origin + expected });
  expect(build('DELETE', path, values)).toEqual({ method: 'DELETE', url: origin + expected });
});

test.each<[string, Record<string, unknown>, string]>([
  ['/{id}', { id: 7 }, '/7'],
  ['/{id}/x', { id: 'a/b?c#d e' }, '/a%2Fb%3Fc%23d%20e/x'],
  ['/{id}', { id: '%2e%2e' }, '/%252e%252e'],
  ['/{id}', { id: '../..' }, '/..%2F..'],
  ['/{id}.json', { id: '.' }, '/..json'],
  ['/{id}', { id: '...' }, '/...'],
  ['/{a,b}/{c}', { a: 1, b: 2, c: true }, '/1,2/true'],
  ['/{ids}', { ids: ['a', 'b/c'] }, '/a,b%2Fc'],
  ['/{where}', { where: { x: 1 } }, '/x,1'],
  ['/{id}/{id}', { id: 'é' }, '/%C3%A9/%C3%A9'],
])('the places in the path are filled in: %s with %j', (path, values, expected) => {
  expect(build('GET', path, values)).toEqual({ method: 'GET', url: origin + expected });
});

describe('the body of POST, PUT and PATCH', () => {
  test.each(['POST', 'PUT', 'PATCH'] as const)('the body of %s carries what has no place, as JSON', (method) => {
    expect(build(method, '/{id}{?page}', { id: 1, page: 2, q: 'ä', list: [1], o: { a: null } })).toEqual({
      method,
      url: `${origin}/1?page=2`,
      contentType: 'application/json',
      body: '{"q":"ä","list":[1],"o":{"a":null}}',
    });
  });

  test('the body of a request is an empty object if nothing remains', () => {
    const contentType = 'application/merge-patch+json';
    expect(build('POST', '/{id}', { id: 1 }, contentType)).toEqual({ method: 'POST', url: `${origin}/1`, contentType, body: '{}' });
  });
});

/** Builds the call of an endpoint on /a; the parameters are given by how they are declared. */
function buildCall(
  endpoint: Partial<IntentEndpoint>,
  declared: Record<string, Partial<Parameter>>,
  values: Record<string, unknown>,
): UpstreamRequest {
  return buildRequest(
    {
      endpoint: { url: `${origin}/a`, method: 'POST', content_type: 'application/json', ...endpoint },
      input_parameters: Object.entries(declared).map(([name, more]) => ({ name, type: 'any', ...more })),
    },
    values,
  );
}

const form = 'application/x-www-form-urlencoded';

describe('lists and objects in a query or form', () => {
  const deep = { b: 'c d', d: [1, { e: null }], f: {} };
  test.each<{ what: string; style?: Parameter['style']; value: unknown; expected: string }>([
    { what: 'repeated', value: [1, 2], expected: 'a=1&a=2' },
    { what: 'an object as members', value: { b: 1 }, expected: 'b=1' },
    { what: 'commas', style: 'commas', value: [1, 'b,c'], expected: 'a=1,b%2Cc' },
    { what: 'an object with commas', style: 'commas', value: { R: 1, G: 2 }, expected: 'a=R,1,G,2' },
    { what: 'spaces', style: 'spaces', value: ['a', 'b'], expected: 'a=a%20b' },
    { what: 'pipes', style: 'pipes', value: ['a', 'b'], expected: 'a=a%7Cb' },
    { what: 'brackets', style: 'brackets', value: deep, expected: 'a%5Bb%5D=c%20d&a%5Bd%5D%5B0%5D=1&a%5Bd%5D%5B1%5D%5Be%5D=null' },
    { what: 'a list in brackets', style: 'brackets', value: ['x', 'y'], expected: 'a%5B0%5D=x&a%5B1%5D=y' },
    { what: 'a text in brackets', style: 'brackets', value: 'x', expected: 'a=x' },
    { what: 'JSON', style: 'json', value: { b: [1] }, expected: 'a=%7B%22b%22%3A%5B1%5D%7D' },
  ])('a list or object in a query or form is written: $what', ({ style, value, expected }) => {
    const declared = { a: { ...(style && { style }) } };
    const url = `${origin}/a?${expected}`;
    expect(buildCall({ method: 'GET' }, declared, { a: value })).toEqual({ method: 'GET', url });
    expect(buildCall({ content_type: form }, declared, { a: value })).toMatchObject({
      url: `${origin}/a`,
      contentType: form,
      body: expected,
    });
    expect(buildCall({ body: null }, declared, { a: value })).toEqual({ method: 'POST', url });
  });
});

test.each(['commas', 'spaces', 'pipes', 'brackets'] as const)('an empty list or object with %s becomes nothing', (style) => {
  const declared: Record<string, Partial<Parameter>> = { a: { style }, b: { style } };
  expect(buildCall({ method: 'GET' }, declared, { a: [], b: {} })).toEqual({ method: 'GET', url: `${origin}/a` });
});

describe('what carries a parameter', () => {
  const url = `${origin}/a`;
  const post = { method: 'POST', url, contentType: 'application/json' };
  const whole = { body: 'all' };
  const csv = 'a,b\n1,"ä"\n';
  const merge = 'application/merge-patch+json';
  const extended = 'application/vnd.api+json; ext="https://example.com/a;b"';
  test.each<{
    what: string;
    endpoint: Partial<IntentEndpoint>;
    declared: Record<string, Partial<Parameter>>;
    values?: Record<string, unknown>;
    request: object;
  }>([
    {
      what: 'the query of a POST',
      endpoint: {},
      declared: { $top: { in: 'query' }, ids: { in: 'query' }, name: {} },
      values: { $top: 1, ids: [1, 2], name: 'x' },
      request: { ...post, url: `${url}?%24top=1&ids=1&ids=2`, body: '{"name":"x"}' },
    },
    {
      what: 'a list as the whole body',
      endpoint: whole,
      declared: { all: {}, page: {} },
      values: { all: [1], page: 2 },
      request: { ...post, url: `${url}?page=2`, body: '[1]' },
    },
    {
      what: 'an object as the whole body of a PATCH',
      endpoint: { method: 'PATCH', content_type: merge, body: 'all' },
      declared: { all: {} },
      values: { all: { a: null } },
      request: { ...post, method: 'PATCH', contentType: merge, body: '{"a":null}' },
    },
    { what: 'null as the whole body', endpoint: whole, declared: { all: {} }, values: { all: null }, request: { ...post, body: 'null' } },
    { what: 'a whole body that is not given', endpoint: whole, declared: { all: {} }, request: { method: 'POST', url } },
    {
      what: 'a text',
      endpoint: { ...whole, content_type: 'text/csv' },
      declared: { all: {} },
      values: { all: csv },
      request: { ...post, contentType: 'text/csv', body: csv },
    },
    {
      what: 'JSON of a type with a parameter',
      endpoint: { content_type: extended },
      declared: { name: {} },
      values: { name: 'x' },
      request: { ...post, contentType: extended, body: '{"name":"x"}' },
    },
    {
      what: 'a form with a charset',
      endpoint: { content_type: `${form}; charset=utf-8` },
      declared: { name: {} },
      values: { name: 'ü' },
      request: { ...post, contentType: `${form}; charset=utf-8`, body: 'name=%C3%BC' },
    },
    {
      what: 'an object as a whole form',
      endpoint: { content_type: form, body: 'all' },
      declared: { all: {} },
      values: { all: { a: 1, b: { c: [true] } } },
      request: { ...post, contentType: form, body: 'a=1&b%5Bc%5D%5B0%5D=true' },
    },
    {
      what: 'the body of a DELETE',
      endpoint: { method: 'DELETE' },
      declared: { ids: { in: 'body' }, force: {} },
      values: { ids: [1], force: true },
      request: { ...post, method: 'DELETE', url: `${origin}/a?force=true`, body: '{"ids":[1]}' },
    },
    {
      what: 'the body of a DELETE that has none',
      endpoint: { method: 'DELETE' },
      declared: { ids: { in: 'body' } },
      request: { method: 'DELETE', url },
    },
    { what: 'no body', endpoint: { body: null }, declared: {}, request: { method: 'POST', url } },
  ])('the endpoint says what carries a parameter: $what', ({ endpoint, declared, values = {}, request }) => {
    expect(buildCall(endpoint, declared, values)).toEqual(request);
  });

  test('a multipart form has a part for each item and file, and objects as JSON', () => {
    const bytes = Buffer.from([0, 0xff, 0x0d, 0x0a]);
    const { contentType = '', body } = buildCall(
      { content_type: 'multipart/form-data' },
      { note: {}, 'x"y': {}, meta: {}, near: { style: 'brackets' }, rows: {}, file: { style: 'base64' } },
      { note: 'a "b"\r\nc', 'x"y': [1, 2], meta: { k: 'v' }, near: { lat: 1 }, rows: [[1, 2]], file: [bytes.toString('base64'), ''] },
    );
    const [, boundary] = /^multipart\/form-data; boundary=(gate-[0-9a-f]{64})$/.exec(contentType) ?? [];
    const part = (head: string, value: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${head}\r\n\r\n${value}\r\n`;
    const file = (at: number) => `file"; filename="file-${at}.bin"\r\nContent-Type: application/octet-stream`;
    const parts = [
      part('note"', 'a "b"\r\nc'),
      part('x%22y"', '1'),
      part('x%22y"', '2'),
      part('meta"\r\nContent-Type: application/json', '{"k":"v"}'),
      part('near[lat]"', '1'),
      part('rows"\r\nContent-Type: application/json', '[1,2]'),
      part(file(1), bytes.toString('latin1')),
      part(file(2), ''),
    ];
    expect((body as Buffer).toString('latin1')).toBe(`${parts.join('')}--${boundary}--\r\n`);
  });
});

describe('base64', () => {
  const bytes = Buffer.from([0, 0xff, 0xfb, 0xef, 0x0d, 0x0a]);
  const file = { style: 'base64' } as const;
  const octets = { content_type: 'application/octet-stream', body: 'a' };

  test.each([
    ['base64', bytes.toString('base64'), bytes],
    ['base64url', bytes.toString('base64url'), bytes],
    ['base64 without padding', bytes.toString('base64').replace(/=+$/, ''), bytes],
    ['an empty text', '', Buffer.alloc(0)],
  ])('a text in base64 stands for bytes as a whole body: %s', (_, value, body) => {
    const contentType = 'application/octet-stream';
    expect(buildCall(octets, { a: file }, { a: value })).toEqual({ method: 'POST', url: `${origin}/a`, contentType, body });
  });

  test.each<{ what: string; endpoint: Partial<IntentEndpoint>; value: unknown; path: string }>([
    { what: 'a whole body', endpoint: octets, value: 'no base64', path: '/parameters/a' },
    { what: 'a whole body with characters left over', endpoint: octets, value: 'AAAAA', path: '/parameters/a' },
    { what: 'a whole body with padding inside', endpoint: octets, value: 'AA==AA==', path: '/parameters/a' },
    { what: 'a file', endpoint: { content_type: 'multipart/form-data' }, value: '?', path: '/parameters/a' },
    { what: 'one of several files', endpoint: { content_type: 'multipart/form-data' }, value: ['AAAA', '?'], path: '/parameters/a/1' },
    { what: 'a file that is no text', endpoint: { content_type: 'multipart/form-data' }, value: [{ a: 1 }], path: '/parameters/a/0' },
  ])('a text that is not base64 is refused where bytes belong: $what', ({ endpoint, value, path }) => {
    const issues = [{ path, problem: 'must be base64, because it encodes bytes' }];
    expect(() => buildCall(endpoint, { a: file }, { a: value })).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER', details: { issues } }),
    );
  });
});

describe('objects in brackets', () => {
  const plain = 'must not contain members whose names are empty or contain brackets or control characters';
  const taken = 'must not contain the name of another parameter of this call, because members are sent as parameters';
  const brackets = { style: 'brackets' } as const;
  test.each<{
    what: string;
    endpoint?: Partial<IntentEndpoint>;
    declared: Record<string, Partial<Parameter>>;
    values: Record<string, unknown>;
    problem: string;
  }>([
    { what: 'a name that closes the bracket', declared: { a: brackets }, values: { a: { 'b]c': 1 } }, problem: plain },
    { what: 'a name that opens another', declared: { a: brackets }, values: { a: { b: { 'c[d': 1 } } }, problem: plain },
    { what: 'an empty name', declared: { a: brackets }, values: { a: [{ '': 1 }] }, problem: plain },
    { what: 'a name with NUL', declared: { a: brackets }, values: { a: { 'b\0': 1 } }, problem: plain },
    { what: 'another parameter', declared: { a: brackets, 'a[b]': {} }, values: { a: { b: 1 } }, problem: taken },
    { what: 'another parameter in another case', declared: { a: brackets, 'A[B]': {} }, values: { a: { b: { c: 1 } } }, problem: taken },
    { what: 'another parameter with a full stop', declared: { a: brackets, 'a.b.c': {} }, values: { a: { b: 1 } }, problem: taken },
    { what: 'a member with a full stop', declared: { a: brackets, 'a[b][c]': {} }, values: { a: { 'b.c': 1 } }, problem: taken },
    {
      what: 'the query in the URL',
      endpoint: { url: `${origin}/a?a[b]=1` },
      declared: { a: brackets },
      values: { a: { b: 1 } },
      problem: taken,
    },
  ])('a member whose name would leave the brackets of its parameter is refused: $what', ({ endpoint = {}, declared, values, problem }) => {
    for (const method of ['GET', 'POST'] as const) {
      const build = () => buildCall({ content_type: form, method, ...endpoint }, declared, values);
      expect(build).toThrow(ApiError);
      expect(build).toThrow(expect.objectContaining({ details: { issues: [{ path: '/parameters/a', problem }] } }));
    }
  });

  test('an object in brackets stays part of its parameter beside parameters that are called like it', () => {
    const declared = { a: brackets, 'a[b]': {}, ab: {} };
    expect(buildCall({ method: 'GET' }, declared, { a: { c: 1 }, 'a[b]': 2, ab: 3 }).url).toBe(`${origin}/a?a%5Bc%5D=1&a%5Bb%5D=2&ab=3`);
  });

  test('an object that is a whole form must not take over a parameter of the query', () => {
    const build = () => buildCall({ content_type: form, body: 'all' }, { all: {}, key: {} }, { all: { KEY: 1 }, key: 2 });
    expect(build).toThrow(expect.objectContaining({ details: { issues: [expect.objectContaining({ path: '/parameters/all/KEY' })] } }));
  });

  test.each([
    ['path', { url: `${origin}/{id}` }],
    ['JSON', { url: `${origin}/`, content_type: 'application/json' }],
  ])('a member of an object of the query must not have the name of what is in the %s, which a policy may limit', (_, endpoint) => {
    const declared = { id: {}, where: { in: 'query' } } as const;
    const build = () => buildCall({ method: 'POST', ...endpoint }, declared, { id: 'u', where: { id: 3 } });
    expect(build).toThrow(expect.objectContaining({ details: { issues: [expect.objectContaining({ path: '/parameters/where/id' })] } }));
  });

  test('an object in brackets is not written longer than a megabyte', () => {
    const value = { ['k'.repeat(10_000)]: Array.from({ length: 10_000 }, () => 1) };
    const build = () => buildCall({ content_type: form }, { a: brackets }, { a: value });
    const issues = [{ path: '/parameters', problem: 'must produce a query or form of at most 1048576 characters' }];
    expect(build).toThrow(expect.objectContaining({ details: { issues } }));
  });
});

describe('what does not fit', () => {
  const empty = 'must not be empty, because it is part of a path';
  const dots = 'must not be . or .., because it is part of a path';
  const taken = 'must not have the name of another parameter of this call, because members are sent as parameters';

  test.each<{ path: string; values: Record<string, unknown>; problem: string; places: string[] }>([
    { path: '/{id}', values: {}, problem: empty, places: ['/id'] },
    { path: '/{id}/delete', values: { id: '' }, problem: empty, places: ['/id'] },
    { path: '/{a}', values: { a: [] }, problem: empty, places: ['/a'] },
    { path: '/{a}', values: { a: {} }, problem: empty, places: ['/a'] },
    { path: '/{id}', values: { id: '..' }, problem: dots, places: ['/id'] },
    { path: '/x/{id}/y', values: { id: '.' }, problem: dots, places: ['/id'] },
    { path: '/{a}{b}', values: { a: '.', b: '.' }, problem: dots, places: ['/a', '/b'] },
    { path: '/%2e{id}', values: { id: '.' }, problem: dots, places: ['/id'] },
    { path: '/a', values: { limit: 1, where: { limit: 1000 } }, problem: taken, places: ['/where/limit'] },
    { path: '/a', values: { limit: 1, where: { LIMIT: 1000 } }, problem: taken, places: ['/where/LIMIT'] },
    { path: '/a', values: { limit: 1, where: { 'limit[]': 1000 } }, problem: taken, places: ['/where/limit[]'] },
    ...['[limit]', '.limit', ']limit', '[[limit]x', '!limit', 'limit\0x'].map((member) => ({
      path: '/a',
      values: { limit: 1, where: { [member]: 1000 } },
      problem: taken,
      places: [`/where/${member}`],
    })),
    ...['user id', ' user_id', 'user.id', 'user[id', 'User\tId'].map((member) => ({
      path: '/a',
      values: { user_id: 'me', where: { [member]: 'victim' } },
      problem: taken,
      places: [`/where/${member}`],
    })),
    { path: '/a?key=1', values: { where: { key: 2 } }, problem: taken, places: ['/where/key'] },
    { path: '/a{?page}', values: { where: { page: 2 } }, problem: taken, places: ['/where/page'] },
    { path: '/a', values: { first: { x: 1 }, second: { x: 2 } }, problem: taken, places: ['/second/x'] },
    { path: '/a', values: { q: 'x'.repeat(9000) }, problem: 'must produce a URL of at most 8192 characters', places: [''] },
  ])('a value that does not fit is refused: $path with $values', ({ path, values, problem, places = [] }) => {
    const issues = places.map((place) => ({ path: `/parameters${place}`, problem }));
    expect(() => build('GET', path, values)).toThrow(
      expect.objectContaining({ name: 'ApiError', code: 'INVALID_PARAMETER', details: { issues } }),
    );
  });
});

test('no value leads out of its place', () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('.', '..', '%2e', '../', '?', '#', '//evil.example', '\\'),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(value, value, fc.dictionary(fc.string(), value), (id, q, rest) => {
      const text = (json: unknown) => JSON.stringify(json).isWellFormed();
      fc.pre(text(id) && text(q) && text(rest));
      let request: UpstreamRequest;
      try {
        request = build('GET', '/users/{id}/orders?fixed=1{&q}', { ...rest, id, q });
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError);
        return;
      }
      const url = new URL(request.url);
      expect(url.origin).toBe(origin);
      expect(url.pathname).toMatch(/^\/users\/[^/]+\/orders$/);
      expect(url.searchParams.getAll('fixed')).toEqual(['1']);
      expect(url.href).toBe(request.url);
    }),
    { numRuns: 500 },
  );
});

test('numbers keep every digit in each place of a call', () => {
  const n = parseExact('9007199254740993');
  const price = parseExact('1.10');
  const call = (content_type: string, more: Partial<IntentEndpoint> = {}) =>
    buildCall(
      { url: 'https://api.example.com/{id}', content_type, ...more },
      { id: {}, 'X-Number': { in: 'header' }, body: {}, style: { style: 'brackets', in: 'query' } },
      { id: n, 'X-Number': n, body: { price: [price, { n }] }, style: { a: [price] } },
    );
  const sent = { url: 'https://api.example.com/9007199254740993?style%5Ba%5D%5B0%5D=1.10', headers: { 'X-Number': '9007199254740993' } };
  expect(call('application/json')).toMatchObject({ ...sent, body: '{"body":{"price":[1.10,{"n":9007199254740993}]}}' });
  expect(call('application/json', { body: 'body' })).toMatchObject({ ...sent, body: '{"price":[1.10,{"n":9007199254740993}]}' });
  expect(call('application/x-www-form-urlencoded')).toMatchObject({
    ...sent,
    body: `price=${encodeURIComponent('[1.10,{"n":9007199254740993}]')}`,
  });
  expect(String(call('multipart/form-data').body)).toContain('{"price":[1.10,{"n":9007199254740993}]}');
});
