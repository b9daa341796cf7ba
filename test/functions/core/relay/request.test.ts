import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../../../functions/core/api-error.ts';
import { buildRequest, type UpstreamRequest } from '../../../../functions/core/relay/request.ts';
import type { IntentEndpoint } from '../../../../schemas/intent.ts';

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

describe('the query of GET and DELETE', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['', {}, '/'],
    ['/a', { q: 'x' }, '/a?q=x'],
    ['/a?', { q: 'x' }, '/a?q=x'],
    ['/a?b=c', { q: 'x' }, '/a?b=c&q=x'],
    ['/a', { q: '' }, '/a?q='],
    ['/a', { q: "a b&c=d+e/f?g#h%20'()*!é😀" }, '/a?q=a%20b%26c%3Dd%2Be%2Ff%3Fg%23h%2520%27%28%29%2A%21%C3%A9%F0%9F%98%80'],
    ['/a', { 'a b': 1, 'ä[]': true }, '/a?a%20b=1&%C3%A4%5B%5D=true'],
    ['/a', { n: -1.5, big: 1e21, yes: false, none: null }, '/a?n=-1.5&big=1e%2B21&yes=false&none=null'],
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
    ['/a{?where}', { where: { x: 1, y: 'é' } }, '/a?where=x,1,y,%C3%A9'],
    ['/a?b=c{&q}', { q: 'x' }, '/a?b=c&q=x'],
    ['/a{&q}', { q: 'x', r: 'y' }, '/a?q=x&r=y'],
    ['/a?q={q}&r=s', { q: 'a&b', t: 'u' }, '/a?q=a%26b&r=s&t=u'],
    ['/a?q={q}', {}, '/a?q='],
  ])('%s with %j', (path, values, expected) => {
    expect(build('GET', path, values)).toEqual({ method: 'GET', url: origin + expected });
    expect(build('DELETE', path, values)).toEqual({ method: 'DELETE', url: origin + expected });
  });
});

describe('places in the path', () => {
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
  ])('%s with %j', (path, values, expected) => {
    expect(build('GET', path, values)).toEqual({ method: 'GET', url: origin + expected });
  });
});

describe('the body of POST, PUT and PATCH', () => {
  test.each(['POST', 'PUT', 'PATCH'] as const)('%s carries what has no place, as JSON', (method) => {
    expect(build(method, '/{id}{?page}', { id: 1, page: 2, q: 'ä', list: [1], o: { a: null } })).toEqual({
      method,
      url: `${origin}/1?page=2`,
      contentType: 'application/json',
      body: '{"q":"ä","list":[1],"o":{"a":null}}',
    });
  });

  test('is an empty object if nothing remains', () => {
    expect(build('POST', '/{id}', { id: 1 }, 'application/merge-patch+json')).toEqual({
      method: 'POST',
      url: `${origin}/1`,
      contentType: 'application/merge-patch+json',
      body: '{}',
    });
  });

  test('is a form if the intent says so', () => {
    expect(build('POST', '/a', { q: 'a b', ids: [1, 2], o: { x: 'y' } }, 'application/x-www-form-urlencoded')).toEqual({
      method: 'POST',
      url: `${origin}/a`,
      contentType: 'application/x-www-form-urlencoded',
      body: 'q=a%20b&ids=1&ids=2&x=y',
    });
  });
});

describe('what does not fit is refused', () => {
  const empty = 'must not be empty, because it is part of a path';
  const dots = 'must not be . or .., because it is part of a path';
  const taken = 'must not have the name of another parameter of this call, because members are sent as parameters';

  test.each<[string, Record<string, unknown>, [path: string, problem: string][]]>([
    ['/{id}', {}, [['/parameters/id', empty]]],
    ['/{id}/delete', { id: '' }, [['/parameters/id', empty]]],
    [
      '/{a}/{b}',
      { a: [], b: {} },
      [
        ['/parameters/a', empty],
        ['/parameters/b', empty],
      ],
    ],
    ['/{id}', { id: '..' }, [['/parameters/id', dots]]],
    ['/x/{id}/y', { id: '.' }, [['/parameters/id', dots]]],
    [
      '/{a}{b}',
      { a: '.', b: '.' },
      [
        ['/parameters/a', dots],
        ['/parameters/b', dots],
      ],
    ],
    ['/%2e{id}', { id: '.' }, [['/parameters/id', dots]]],
    ['/a', { limit: 1, where: { limit: 1000 } }, [['/parameters/where/limit', taken]]],
    ['/a', { limit: 1, where: { LIMIT: 1000 } }, [['/parameters/where/LIMIT', taken]]],
    ['/a', { limit: 1, where: { 'limit[]': 1000 } }, [['/parameters/where/limit[]', taken]]],
    ...['user id', ' user_id', 'user.id', 'user[id', 'User\tId'].map(
      (member): [string, Record<string, unknown>, [path: string, problem: string][]] => [
        '/a',
        { user_id: 'me', where: { [member]: 'victim' } },
        [[`/parameters/where/${member}`, taken]],
      ],
    ),
    ['/a?key=1', { where: { key: 2 } }, [['/parameters/where/key', taken]]],
    ['/a{?page}', { where: { page: 2 } }, [['/parameters/where/page', taken]]],
    ['/a', { first: { x: 1 }, second: { x: 2 } }, [['/parameters/second/x', taken]]],
    ['/a', { q: 'x'.repeat(9000) }, [['/parameters', 'must make a URL of at most 8192 characters']]],
  ])('%s with %j', (path, values, issues) => {
    let refusal: unknown;
    try {
      build('GET', path, values);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({
      code: 'INVALID_PARAMETER',
      status: 400,
      message: 'The request is not valid. Correct every place that details.issues names, then send it again.',
      details: { issues: issues.map(([at, problem]) => ({ path: at, problem })) },
    });
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
