import { describe, expect, test } from '@jest/globals';
import { buildRequest } from '../../../functions/core/relay/build-request.ts';
import { DocumentError } from '../../../registry/import/document.ts';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { callOf, callUpstream, openLocalRelay } from '../../support/call-upstream.ts';
import { startUpstream } from '../../support/upstream.ts';

const options: ImportOptions = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };
const plan = (document: unknown, more: Partial<ImportOptions> = {}) => planImport(structuredClone(document), { ...options, ...more });

const act = (operationId?: string, more: object = {}) => ({ ...(operationId && { operationId }), responses: { 204: {} }, ...more });
const document = (paths: object, more: object = {}) => ({ openapi: '3.1.0', info: { title: 'Tides', version: '1' }, paths, ...more });
const swagger = (more: object, operation: object = {}) => ({
  swagger: '2.0',
  info: { title: 'Tides', version: '1' },
  paths: { '/tides': { get: act('list', operation) } },
  ...more,
});
const at = (...urls: (string | object)[]) => ({ servers: urls.map((url) => (typeof url === 'string' ? { url } : url)) });
const urlsOf = ({ intents }: ReturnType<typeof plan>) => intents.map(({ endpoint }) => endpoint.url);
const reasonsOf = ({ skipped }: ReturnType<typeof plan>) => skipped.map(({ path, reason }) => [path, reason]);

describe('addresses of operations', () => {
  const base = 'https://us.example/api/v2';
  const allowedOrigins = ['https://up.example', 'https://docs.example', 'https://eu.example'];
  const documentUrl = 'https://docs.example/specs/tides/openapi.json';
  test.each<{ what: string; root: object; path?: object; operation?: object; more?: Partial<ImportOptions>; url: string }>([
    { what: 'of the document', root: at('https://eu.example/v1/'), url: 'https://eu.example/v1/tides' },
    {
      what: 'with characters that an address cannot have',
      root: at('https://eu.example/a b/\u00fc/'),
      url: 'https://eu.example/a%20b/%C3%BC/tides',
    },
    { what: 'of the path', root: at('https://eu.example'), path: at('https://eu.example/v3'), url: 'https://eu.example/v3/tides' },
    {
      what: 'of the operation before that of its path',
      root: at('https://eu.example'),
      path: at('/x'),
      operation: at('https://up.example/y/'),
      url: 'https://up.example/y/tides',
    },
    {
      what: 'given with --base-url instead of that of the document',
      root: at('https://eu.example/v1'),
      more: { baseUrl: `${base}/` },
      url: `${base}/tides`,
    },
    { what: 'given with --base-url if the document has none', root: {}, more: { baseUrl: base }, url: `${base}/tides` },
    {
      what: 'of the path in spite of --base-url',
      root: at('/v1'),
      path: at('https://up.example'),
      more: { baseUrl: base },
      url: 'https://up.example/tides',
    },
    {
      what: 'of the operation in spite of --base-url',
      root: at('/v1'),
      operation: at('https://up.example/u'),
      more: { baseUrl: base },
      url: 'https://up.example/u/tides',
    },
    {
      what: 'at the root of --base-url',
      root: at('/api/v2'),
      operation: at('/'),
      more: { baseUrl: base },
      url: 'https://us.example/tides',
    },
    { what: 'beside --base-url', root: at('/api/v2'), path: at('./v3/'), more: { baseUrl: base }, url: 'https://us.example/api/v3/tides' },
    {
      what: 'above --base-url',
      root: at('/api/v2'),
      path: at('../up'),
      more: { baseUrl: `${base}/` },
      url: 'https://us.example/api/up/tides',
    },
    {
      what: 'relative to --base-url before the document',
      root: {},
      path: at('/x'),
      more: { baseUrl: base, documentUrl },
      url: 'https://us.example/x/tides',
    },
    {
      what: 'relative to the document',
      root: at('/v1'),
      operation: at('../v2'),
      more: { documentUrl },
      url: 'https://docs.example/specs/v2/tides',
    },
    { what: 'with the scheme of the document', root: at('//eu.example/v1'), more: { documentUrl }, url: 'https://eu.example/v1/tides' },
    {
      what: 'of the path if the list of the operation is empty',
      root: {},
      path: at('https://up.example'),
      operation: at(),
      url: 'https://up.example/tides',
    },
    {
      what: 'of the document if that of the path is empty YAML',
      root: at('https://eu.example'),
      path: { servers: null },
      url: 'https://eu.example/tides',
    },
    {
      what: 'whose variables have defaults',
      root: at({ url: 'https://{r}.example/{v}', variables: { r: { default: 'eu' }, v: { default: 2 } } }),
      url: 'https://eu.example/2/tides',
    },
    { what: 'that needs no variable', root: at('https://{r}.example', ' https://eu.example\n'), url: 'https://eu.example/tides' },
  ])('an operation is called at the server $what', ({ root, path = {}, operation = {}, more = {}, url }) => {
    const planned = plan(document({ '/tides': { ...path, get: act('list', operation) } }, root), { ...more, allowedOrigins });
    expect([urlsOf(planned), planned.skipped]).toEqual([[url], []]);
  });
});

describe('addresses that are not given', () => {
  const none = 'has no absolute server address; give one with --base-url';
  test.each<{ what: string; servers: unknown; path: string; reason: string }>([
    { what: 'relative to a document at no address', servers: [{ url: '/v2' }], path: '/servers/0/url', reason: none },
    { what: 'a host without a scheme', servers: [{ url: 'up.example/v1' }], path: '/servers/0/url', reason: none },
    { what: 'a host and port without a scheme', servers: [{ url: 'localhost:8080/v1' }], path: '/servers/0/url', reason: none },
    { what: 'an empty host, in which parsers find another', servers: [{ url: 'https:///v1' }], path: '/servers/0/url', reason: none },
    { what: 'one slash too few', servers: [{ url: 'https:/up.example' }], path: '/servers/0/url', reason: none },
    { what: 'another scheme', servers: [{ url: 'wss://up.example' }], path: '/servers/0/url', reason: none },
    { what: 'a server without a url', servers: [{ description: 'Uploads' }], path: '/servers/0/url', reason: none },
    { what: 'a server that is nothing', servers: [null], path: '', reason: none },
    {
      what: 'one server instead of a list',
      servers: { url: 'https://up.example' },
      path: '/servers',
      reason: 'has servers that are not a list; correct the document',
    },
    {
      what: 'a variable with allowed values, none of which is the default',
      servers: [{ url: 'https://up.example/{zone}', variables: { zone: { enum: ['a', 'b'] } } }],
      path: '/servers/0/url',
      reason: 'has the server variable zone without a default; correct the document',
    },
  ])('an operation whose address is not given is skipped: $what', ({ servers, path, reason }) => {
    const paths = { '/tides': { get: act('list'), put: act('upload', { servers }) } };
    const planned = plan(document(paths, at('https://eu.example')));
    expect(urlsOf(planned)).toEqual(['https://eu.example/tides']);
    expect(planned.skipped).toEqual([{ operation: 'PUT /tides', path: `/paths/~1tides/put${path}`, reason }]);
  });

  test.each(['///up.example', '/\\up.example', '\\\\up.example', '/\t/up.example', 'https:/up.example', 'https:up.example', ''])(
    'an operation is skipped if parsers find another host in its relative address: %j',
    (url) => {
      const planned = plan(document({ '/tides': { get: act('list', at(url)) } }), { baseUrl: 'https://eu.example' });
      const reason = 'has no absolute server address; correct the document';
      expect([planned.intents, reasonsOf(planned)]).toEqual([[], [['/paths/~1tides/get/servers/0/url', reason]]]);
    },
  );
});

describe('addresses of services', () => {
  test.each<{ what: string; servers: (string | undefined)[]; more?: Partial<ImportOptions>; serviceUrl: string; count: number }>([
    {
      what: 'the server that all operations have',
      servers: ['https://a.example/v1', 'https://a.example/v1/'],
      serviceUrl: 'https://a.example/v1',
      count: 2,
    },
    {
      what: 'the origin that they share',
      servers: ['https://a.example/v1', 'https://a.example/v2'],
      serviceUrl: 'https://a.example',
      count: 2,
    },
    {
      what: 'the most frequent origin',
      servers: ['https://a.example', 'https://b.example/v1', 'https://b.example/v1'],
      serviceUrl: 'https://b.example/v1',
      count: 2,
    },
    {
      what: 'the first of equally frequent ones',
      servers: ['https://b.example', 'https://a.example'],
      serviceUrl: 'https://b.example',
      count: 1,
    },
    {
      what: 'that of most operations, though some have none',
      servers: ['https://a.example', undefined],
      serviceUrl: 'https://a.example',
      count: 1,
    },
    {
      what: 'not that of the document',
      servers: ['https://a.example'],
      more: { documentUrl: 'https://docs.example/x.json' },
      serviceUrl: 'https://a.example',
      count: 1,
    },
    {
      what: 'that of --base-url',
      servers: ['https://a.example', '/'],
      more: { baseUrl: 'https://b.example/v1' },
      serviceUrl: 'https://b.example/v1',
      count: 1,
    },
  ])('the address of a service whose document has no servers is $what', ({ servers, more = {}, serviceUrl, count }) => {
    const paths = Object.fromEntries(servers.map((url, index) => [`/${index}`, { ...(url && at(url)), get: act(`act ${index}`) }]));
    const { service, intents, skipped } = plan(document(paths), more);
    expect([service.service_url, intents.length, skipped.length]).toEqual([serviceUrl, count, servers.length - count]);
    const [namespace] = intents[0]?.intent_uid.split(':') ?? [];
    expect(namespace).toBe(new URL(serviceUrl).host);
  });

  test('the address of a service whose document has no servers is not that of a few operations', () => {
    const paths = { '/a': { get: act('a', at('https://up.example')) }, '/b': { get: act('b'), put: act('c') } };
    expect(() => plan(document(paths))).toThrow(
      new DocumentError('The document has no absolute server address; give one with --base-url, for example https://api.example.com/v1.'),
    );
  });
});

test('operations at another origin than the service say that the credential is not sent there', () => {
  const paths = { '/tides': { get: act('list'), put: act('upload', at('https://up.example')) } };
  const { notes } = plan(document(paths, at('https://eu.example')), { allowedOrigins: ['https://up.example'] });
  const note = "is called at https://up.example, where the service's credential is not sent unless its origins include it";
  expect(notes).toEqual([{ path: '/paths/~1tides/put', note }]);
});

describe('--base-url', () => {
  test.each([
    'api.example',
    'api.example:8443/v1',
    '//api.example',
    '/v1',
    '',
    'ftp://api.example',
    'file:///etc/passwd',
    'https:api.example',
    'https:///v1',
    'https://',
    'https://api.example/v1?k=1',
    'https://api.example?',
    'https://api.example/#/v1',
    'https://me@api.example',
    'https://me:secret@api.example/v1',
    'https://{region}.example',
    'https://api.example/{version}',
    'https://api.example\\@other.example',
    'https://api.example/a b',
    ' https://api.example',
    'https://api.example:port',
  ])('--base-url %j is refused', (baseUrl) => {
    const refusal = new DocumentError(
      '--base-url needs an http or https address without user information, query, fragment or variables, for example https://api.example.com/v1.',
    );
    expect(() => plan(document({ '/tides': { get: act('list') } }), { baseUrl })).toThrow(refusal);
    const info = { name: 'Tides', description: 'Tides', service_url: 'https://tides.example' };
    expect(() => plan({ 'service-info': info, intents: [] }, { baseUrl })).toThrow(refusal);
  });

  test.each([
    ['https://api.example', 'https://api.example/tides'],
    ['HTTPS://API.example:443/v1//', 'HTTPS://API.example:443/v1/tides'],
    ['https://api.example/@v1', 'https://api.example/@v1/tides'],
  ])('--base-url %s leads to %s', (baseUrl, url) => {
    expect(urlsOf(plan(document({ '/tides': { get: act('list') } }), { baseUrl }))).toEqual([url]);
  });
});

describe('documents that give no address', () => {
  const none = 'has no absolute server address; give one with --base-url';
  test.each<[title: string, document: unknown, message: string]>([
    ['no servers', document({ '/tides': { get: act('list') } }), none],
    ['a relative server', document({}, at('/v1')), none],
    [
      'a variable without a default',
      document({}, at({ url: 'https://{region}.example', variables: { region: { enum: ['eu', 'us'] } } })),
      'has the server variable region without a default; give the address with --base-url',
    ],
    [
      'a variable that is not described, in the path',
      document({}, at('https://eu.example/{tenant}/v1')),
      'has the server variable tenant without a default; give the address with --base-url',
    ],
    [
      'a server that is no list',
      document({}, { servers: { url: 'https://a.example' } }),
      'has servers that are not a list; give the address with --base-url',
    ],
    [
      'a query',
      document({}, at('https://a.example/?k=1')),
      'has a server address with a query, which paths cannot follow; give one without a query with --base-url',
    ],
    [
      'a Swagger host with a variable',
      swagger({ host: '{shop}.example' }),
      'has the server variable shop without a default; give the address with --base-url',
    ],
    ['a Swagger base path alone', swagger({ basePath: '/v1' }), none],
    ['a Swagger host that is empty', swagger({ host: '', basePath: '/v1' }), none],
    ['a Swagger base path that is an address', swagger({ host: 'a.example', basePath: 'https://b.example/v1' }), none],
    ['a Swagger host of another scheme', swagger({ host: 'ftp://a.example' }), none],
    ['web sockets only', swagger({ host: 'a.example', schemes: ['wss'] }), none],
  ])('a document that gives no address is refused and says why: %s', (_, given, message) => {
    expect(() => plan(given)).toThrow(new DocumentError(`The document ${message}, for example https://api.example.com/v1.`));
  });
});

describe('addresses of operations in Swagger 2.0', () => {
  const documentUrl = 'https://docs.example/specs/swagger.json';
  test.each<{ what: string; members: object; operation?: object; more?: Partial<ImportOptions>; url: string }>([
    { what: 'a base path without a slash', members: { host: 'a.example', basePath: 'v2' }, url: 'https://a.example/v2/tides' },
    {
      what: 'a base path that looks like a domain',
      members: { host: 'a.example', basePath: '.evil.example' },
      url: 'https://a.example/.evil.example/tides',
    },
    {
      what: 'a base path that looks like a host',
      members: { host: 'a.example', basePath: '@evil.example' },
      url: 'https://a.example/@evil.example/tides',
    },
    { what: 'a base path with slashes around it', members: { host: 'a.example', basePath: '//v2/' }, url: 'https://a.example/v2/tides' },
    { what: 'a host alone', members: { host: 'a.example' }, url: 'https://a.example/tides' },
    { what: 'a host with a slash', members: { host: 'a.example/', basePath: '/v2' }, url: 'https://a.example/v2/tides' },
    { what: 'a host with slashes before it', members: { host: '//a.example', basePath: 'v2' }, url: 'https://a.example/v2/tides' },
    { what: 'a host with a scheme', members: { host: 'https://a.example/', basePath: 'v2' }, url: 'https://a.example/v2/tides' },
    { what: 'a host with a path', members: { host: 'a.example/api', basePath: 'v2' }, url: 'https://a.example/api/v2/tides' },
    {
      what: 'https, if it is one of several schemes',
      members: { host: 'a.example', schemes: ['ws', 'http', 'https'] },
      url: 'https://a.example/tides',
    },
    {
      what: 'a scheme of its own',
      members: { host: 'a.example', schemes: ['http'] },
      operation: { schemes: ['https'] },
      url: 'https://a.example/tides',
    },
    {
      what: '--base-url, whatever its schemes',
      members: { host: 'a.example' },
      operation: { schemes: ['https'] },
      more: { baseUrl: 'https://b.example/x' },
      url: 'https://b.example/x/tides',
    },
    {
      what: "the document's host without a host",
      members: { basePath: 'v2' },
      more: { documentUrl },
      url: 'https://docs.example/v2/tides',
    },
    {
      what: "the document's host with an empty host",
      members: { host: '', basePath: '//evil.example/v2' },
      more: { documentUrl },
      url: 'https://docs.example/evil.example/v2/tides',
    },
  ])('an operation of Swagger 2.0 is called at an address with $what', ({ members, operation = {}, more = {}, url }) => {
    const planned = plan(swagger(members, operation), { ...more, allowedOrigins: ['https://a.example'] });
    expect([urlsOf(planned), planned.skipped]).toEqual([[url], []]);
  });

  test('an operation of Swagger 2.0 is called at no address whose schemes are not those of HTTP', () => {
    const planned = plan(swagger({ host: 'a.example' }, { schemes: ['wss'] }));
    expect(reasonsOf(planned)).toEqual([['/paths/~1tides/get', 'has no absolute server address; give one with --base-url']]);
  });
});

describe('places of path parameters', () => {
  const parameter = (name: string, more: object = {}) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', maxLength: 9 },
    ...more,
  });
  const planPath = (path: string, ...names: string[]) =>
    plan(document({ [path]: { get: act('act', { parameters: names.map((name) => parameter(name)) }) } }, at('https://a.example')));
  const oneSegment = (name: string) => `the path parameter ${name} is one segment: slashes in it are percent-encoded`;
  test.each<{ path: string; names: string[]; template: string; notes?: string[] }>([
    { path: '/users/:id', names: ['id'], template: '/users/{id}' },
    { path: '/users/:id/posts/:post_id.json', names: ['id', 'post_id'], template: '/users/{id}/posts/{post_id}.json' },
    { path: '/flights/:from-:to', names: ['from', 'to'], template: '/flights/{from}-{to}' },
    { path: '/users/:user-id', names: ['user-id'], template: '/users/{user-id}' },
    { path: '/users/:id_type/:id', names: ['id'], template: '/users/:id_type/{id}' },
    { path: '/users/:id(\\d+)/:tab?', names: ['id', 'tab'], template: '/users/{id}/{tab}' },
    { path: '/users/:id?fields=all', names: ['id'], template: '/users/{id}?fields=all' },
    { path: '/users/{id}/:id', names: ['id'], template: '/users/{id}/:id' },
    { path: '/orders/{id}:cancel', names: ['id'], template: '/orders/{id}:cancel' },
    { path: '/orders:batchGet', names: [], template: '/orders:batchGet' },
    { path: '/orders/{id:int}', names: ['id'], template: '/orders/{id}' },
    { path: '/orders/{id:[0-9]{4}}', names: ['id'], template: '/orders/{id}' },
    { path: '/orders/{id : \\d+}/{ line }', names: ['id', 'line'], template: '/orders/{id}/{line}' },
    { path: '/orders/{id?}', names: ['id'], template: '/orders/{id}' },
    { path: '/files/{rest*}', names: ['rest'], template: '/files/{rest}', notes: [oneSegment('rest')] },
    { path: '/files/{**rest}', names: ['rest'], template: '/files/{rest}', notes: [oneSegment('rest')] },
    { path: '/files/{+path}', names: ['path'], template: '/files/{path}', notes: [oneSegment('path')] },
    { path: '/{proxy+}', names: ['proxy'], template: '/{proxy}', notes: [oneSegment('proxy')] },
    { path: '/files/{file:path}', names: ['file'], template: '/files/{file}', notes: [oneSegment('file')] },
    { path: '/v1/{name=harbours/*}:move', names: ['name'], template: '/v1/{name}:move', notes: [oneSegment('name')] },
    {
      path: '/users/{userID}',
      names: ['user_id'],
      template: '/users/{user_id}',
      notes: ['the path variable userID was read as the path parameter user_id'],
    },
  ])('the path $path has places for the parameters $names', ({ path, names, template, notes = [] }) => {
    const planned = planPath(path, ...names);
    expect(urlsOf(planned)).toEqual([`https://a.example${template}`]);
    const inputs = names.map((name) => ({ name, type: 'string', required: true, maxLength: 9 }));
    expect(planned.intents[0]?.input_parameters).toEqual(inputs);
    expect(planned.notes.map(({ note }) => note)).toEqual(notes);
  });

  const valueInPath = 'the parameter b was left out: the path gives its value';
  test.each<{ path: string; template: string; names: string[]; notes?: string[] }>([
    { path: '/users?b={b}', template: '/users', names: ['b'] },
    { path: '/users?b=', template: '/users', names: ['b'] },
    { path: '/users?b=:b', template: '/users', names: ['b'] },
    { path: '/users?b=<b>', template: '/users', names: ['b'] },
    { path: '/users?b=*', template: '/users', names: ['b'] },
    { path: '/users?b={string}', template: '/users', names: ['b'] },
    { path: '/users/{id}?b={id}', template: '/users/{id}?b={id}', names: ['id'], notes: [valueInPath] },
    { path: '/users?b={id}', template: '/users?b={id}', names: ['id'], notes: [valueInPath] },
    { path: '/users?a=1&b={b}&c', template: '/users?a=1&c', names: ['b'] },
    { path: '/users?b=1', template: '/users?b=1', names: [], notes: [valueInPath] },
    { path: '/users?b', template: '/users?b', names: [], notes: [valueInPath] },
    {
      path: '/users?b=x&a={a}',
      template: '/users?b=x&a={a}',
      names: ['a'],
      notes: [valueInPath, 'the path variable a is not described; it became a required string'],
    },
  ])('the query parameter b, which is also in the path $path, is sent once', ({ path, template, names, notes = [] }) => {
    const place = path.includes('{id}') ? [parameter('id')] : [];
    const parameters = [{ name: 'b', in: 'query', schema: { type: 'string' } }, ...place];
    const planned = plan(document({ [path]: { get: act('act', { parameters }) } }, at('https://a.example')));
    expect(urlsOf(planned)).toEqual([`https://a.example${template}`]);
    expect(planned.intents[0]?.input_parameters.map(({ name }) => name)).toEqual(names);
    expect(planned.notes.map(({ note }) => note)).toEqual(notes);
  });

  test.each<[path: string, name: string]>([
    ['/users', 'id'],
    ['/users/<int:id>', 'id'],
    ['/users/:identity', 'id'],
    ['/users/{org}', 'id'],
    ['/orders:cancel', 'cancel'],
  ])('the path %s lacks places for %s, so that the operation is skipped', (path, name) => {
    const planned = planPath(path, name);
    expect(planned.intents).toEqual([]);
    const place = expect.stringMatching(/\/get\/parameters\/0$/);
    expect(reasonsOf(planned)).toEqual([[place, `needs the path parameter ${name}, which has no place in its path`]]);
  });

  test('a parameter that is said to be optional needs no place in the path', () => {
    const parameters = [parameter('id', { required: false })];
    const planned = plan(document({ '/users': { get: act('act', { parameters }) } }, at('https://a.example')));
    expect([urlsOf(planned), planned.notes.map(({ note }) => note)]).toEqual([
      ['https://a.example/users'],
      ['the path parameter id was left out: the path has no such variable'],
    ]);
  });

  test('the paths of Swagger 2.0 have places for parameters, and the name that follows from them', () => {
    const parameters = [{ name: 'id', in: 'path', required: true, type: 'string' }];
    const planned = plan({ ...swagger({ host: 'a.example' }), paths: { '/users/:id': { delete: act(undefined, { parameters }) } } });
    expect(planned.intents).toMatchObject([
      { intent_uid: 'a.example:delete-users-id:v1', intent_name: 'Delete a user', endpoint: { url: 'https://a.example/users/{id}' } },
    ]);
  });
});

describe('operations that look alike', () => {
  const slugsOf = (paths: [string, object][]) => {
    const { intents, skipped } = plan(document(Object.fromEntries(paths), at('https://a.example')));
    expect(skipped).toEqual([]);
    return Object.fromEntries(intents.map(({ intent_uid, endpoint: { method, url } }) => [`${method} ${url}`, intent_uid.split(':')[1]]));
  };
  const digest = expect.stringMatching(/^get-[a-z-]+-[0-9a-f]{8}$/);
  test.each<[title: string, paths: [string, object][], slugs: unknown[]]>([
    [
      'a dot and a slash',
      [
        ['/a.json', { get: act() }],
        ['/a/json', { get: act() }],
      ],
      [digest, digest],
    ],
    [
      'a slash at the end',
      [
        ['/a', { get: act() }],
        ['/a/', { get: act() }],
      ],
      [digest, digest],
    ],
    [
      'letters in another case',
      [
        ['/myList', { get: act() }],
        ['/my-list', { get: act() }],
      ],
      [digest, digest],
    ],
    [
      'a place and its words',
      [
        ['/x/{id}', { get: act() }],
        ['/x/by-id', { get: act() }],
        ['/x/by_id', { get: act() }],
      ],
      [digest, digest, digest],
    ],
    [
      'one operationId, paths alike',
      [
        ['/a.b', { get: act('same') }],
        ['/a/b', { get: act('same') }],
      ],
      [digest, digest],
    ],
    ['one operationId', [['/a', { get: act('same'), put: act('Same') }]], ['get-a', 'put-a']],
    [
      'a slug that another operation has by its operationId',
      [
        ['/b', { get: act('x') }],
        ['/c', { get: act('x'), put: act('getB') }],
      ],
      [digest, 'get-c', 'get-b'],
    ],
  ])('operations that look alike have slugs of their own, whatever their order: %s', (_, paths, expected) => {
    const slugs = slugsOf(paths);
    expect(Object.values(slugs)).toEqual(expected);
    expect(new Set(Object.values(slugs)).size).toBe(expected.length);
    expect(slugsOf([...paths].reverse())).toEqual(slugs);
  });

  test('an operation that takes even the digest of another one is kept, and the other skipped', () => {
    const paths = { '/a.b': { get: act() }, '/a/b': { get: act() } };
    const [first] = plan(document(paths, at('https://a.example'))).intents;
    const slug = first?.intent_uid.split(':')[1] ?? '';
    const { intents, skipped } = plan(document({ ...paths, '/c': { get: act(slug) } }, at('https://a.example')));
    expect(intents.map(({ endpoint }) => endpoint.url)).toEqual(['https://a.example/a/b', 'https://a.example/c']);
    expect(skipped).toEqual([
      { operation: 'GET /a.b', path: '/paths/~1a.b/get', reason: `collides with another operation that is called ${slug}` },
    ]);
  });
});

test.each<{ name: string; other: string; where: string; inputs: string[] }>([
  { name: 'X-Zone', other: 'x-zone', where: 'header', inputs: ['x-zone'] },
  { name: 'x-zone', other: 'X-ZONE', where: 'header', inputs: ['X-ZONE'] },
  { name: 'X-Zone', other: 'X-Zone', where: 'header', inputs: ['X-Zone'] },
  { name: 'X-Zone', other: 'x-zone', where: 'query', inputs: ['X-Zone', 'x-zone'] },
])('a parameter $name of the path and one $other of the operation in the $where are $inputs', ({ name, other, where, inputs }) => {
  const parameter = (name: string, value: string) => ({ name, in: where, schema: { type: 'string', description: value } });
  const item = { parameters: [parameter(name, 'of the path')], get: act('list', { parameters: [parameter(other, 'of the operation')] }) };
  const [intent] = plan(document({ '/tides': item }, at('https://a.example'))).intents;
  expect(intent?.input_parameters.map(({ name }) => name)).toEqual(inputs);
  expect(intent?.input_parameters.at(-1)?.description).toBe('of the operation');
});

describe('other credentials', () => {
  const key = (name: string, where = 'header') => ({ type: 'apiKey', in: where, name });
  const once = (other: string, own: string) =>
    `requires ${other} in the place of ${own}, and a service sends one credential; to call it, import the document once more with another --name and --namespace`;
  const besides = (other: string, own: string) =>
    `requires ${other}, which the credential of the other operations (${own}) does not include`;
  const schemes = {
    app: key('X-Token'),
    client: key('x-token'),
    admin: key('X-Admin'),
    query: key('token', 'query'),
    basic: { type: 'http', scheme: 'basic' },
    bearer: { type: 'http', scheme: 'bearer' },
  };
  type Scheme = keyof typeof schemes;
  test.each<{ what: string; security: Scheme[][] | undefined; operation: Scheme[][] | undefined; note?: string }>([
    { what: 'another key in the same header', security: [['client']], operation: [['app']], note: once('app', 'client') },
    { what: 'another scheme of the same header', security: [['bearer']], operation: [['basic']], note: once('basic', 'bearer') },
    { what: 'another header', security: [['client']], operation: [['admin']], note: besides('admin', 'client') },
    { what: 'one more header', security: [['client']], operation: [['client', 'admin']], note: besides('admin', 'client') },
    { what: 'none of two others', security: [['client']], operation: [['bearer'], ['query']], note: besides('bearer', 'client') },
    { what: 'one of several', security: [['client'], ['bearer']], operation: [['bearer'], ['client']] },
    { what: 'none at all', security: [['client']], operation: [] },
    { what: 'none if it likes', security: [['client']], operation: [['app'], []] },
    { what: 'what the document says', security: [['client']], operation: undefined },
    { what: 'what most operations say', security: undefined, operation: [['app']], note: once('app', 'client') },
  ])('an operation that needs another credential than the service sends says so: $what', ({ security, operation, note = '' }) => {
    const secure = (given: Scheme[][] | undefined) => ({
      security: given?.map((names) => Object.fromEntries(names.map((name) => [name, []]))),
    });
    const usual = secure(security === undefined ? [['client']] : undefined);
    const paths = { '/tides': { get: act('list', usual), put: act('put', usual), post: act('post', secure(operation)) } };
    const { notes } = plan(document(paths, { ...at('https://a.example'), ...secure(security), components: { securitySchemes: schemes } }));
    expect(notes).toEqual(note === '' ? [] : [{ path: '/paths/~1tides/post', note }]);
  });
});

describe('members that a version does not have', () => {
  const item = '/paths/~1tides/get';
  const query = (more: object) => ({ parameters: [{ name: 'a', in: 'query', ...more }] });
  const json = { content: { 'application/json': { schema: { type: 'object' } } } };
  test.each<{ what: string; version: 'swagger' | 'openapi'; operation?: object; more?: object; path: string; note: string }>([
    {
      what: 'a request body',
      version: 'swagger',
      operation: { requestBody: json },
      path: item,
      note: 'requestBody was left out: Swagger 2.0 has no such member here',
    },
    {
      what: 'servers of an operation',
      version: 'swagger',
      operation: at('https://b.example'),
      path: item,
      note: 'servers was left out: Swagger 2.0 has no such member here',
    },
    {
      what: 'servers',
      version: 'swagger',
      more: at('https://b.example'),
      path: '',
      note: 'servers was left out: Swagger 2.0 has no such member here',
    },
    {
      what: 'content of a response',
      version: 'swagger',
      operation: { responses: { 200: json } },
      path: `${item}/responses/200`,
      note: 'content was left out: Swagger 2.0 has no such member here',
    },
    {
      what: 'a style',
      version: 'swagger',
      operation: query({ type: 'string', style: 'form' }),
      path: `${item}/parameters/0`,
      note: 'style was left out: Swagger 2.0 has no such member here',
    },
    {
      what: 'components',
      version: 'swagger',
      more: { components: {} },
      path: '',
      note: 'components was read through references only: Swagger 2.0 has no such member here',
    },
    {
      what: 'consumes',
      version: 'openapi',
      operation: { consumes: ['text/csv'], produces: ['text/csv'] },
      path: item,
      note: 'consumes, produces were left out: OpenAPI 3 has no such members here',
    },
    {
      what: 'a host',
      version: 'openapi',
      more: { host: 'b.example' },
      path: '',
      note: 'host was left out: OpenAPI 3 has no such member here',
    },
    {
      what: 'a type of a parameter',
      version: 'openapi',
      operation: query({ type: 'integer' }),
      path: `${item}/parameters/0`,
      note: 'type was left out: OpenAPI 3 has no such member here',
    },
    {
      what: 'a schema of a response',
      version: 'openapi',
      operation: { responses: { 200: { schema: {} } } },
      path: `${item}/responses/200`,
      note: 'schema was left out: OpenAPI 3 has no such member here',
    },
    {
      what: 'parameters by name',
      version: 'openapi',
      operation: { parameters: { a: { in: 'query' } } },
      path: item,
      note: 'parameters was left out: it must be a list',
    },
    {
      what: 'parameters by name',
      version: 'swagger',
      operation: { parameters: { a: { in: 'query' } } },
      path: item,
      note: 'parameters was left out: it must be a list',
    },
    { what: 'one tag', version: 'openapi', operation: { tags: 'sea' }, path: item, note: 'tags was left out: it must be a list' },
    {
      what: 'one requirement',
      version: 'openapi',
      operation: { security: { key: [] } },
      path: item,
      note: 'security was left out: it must be a list',
    },
  ])('a member that its version does not have is noted: $what in $version', ({ version, operation = {}, more = {}, path, note }) => {
    const paths = { '/tides': { get: act('list', operation) } };
    const given = version === 'swagger' ? { ...swagger({ host: 'a.example' }), paths } : document(paths, at('https://a.example'));
    const { notes, skipped, intents } = plan({ ...given, ...more });
    expect([intents.length, skipped, notes]).toEqual([1, [], [{ path, note }]]);
    expect(intents[0]?.endpoint.url).toBe('https://a.example/tides');
  });

  test('parameters by name at a path are noted', () => {
    const item = { parameters: { a: { in: 'query' } }, get: act('list') };
    const { notes } = plan(document({ '/tides': item }, at('https://a.example')));
    expect(notes).toEqual([{ path: '/paths/~1tides', note: 'parameters was left out: it must be a list' }]);
  });

  test('members that are empty YAML are not noted', () => {
    const operation = { parameters: null, tags: null, security: null, servers: null };
    expect(plan(document({ '/tides': { get: act('list', operation) } }, at('https://a.example'))).notes).toEqual([]);
  });
});

test('each operation reaches its own upstream', async () => {
  const upstreams = await Promise.all([1, 2].map(() => startUpstream((_, response) => response.writeHead(204).end())));
  const relay = openLocalRelay();
  try {
    const [tides, past] = upstreams.map(({ port }) => `http://127.0.0.1:${port}`);
    const parameters = [{ name: 'port', in: 'path', required: true, schema: { type: 'string' } }];
    const paths = {
      '/tides/:port': { ...at(`${tides}/v1/`), get: act('listTides', { parameters }) },
      '/tides': { get: act('listPast', at(`${past}/old`)) },
    };
    const { intents, service } = plan(document(paths), {
      rules: { ...options.rules, allowLoopback: true },
      namespace: 'tides.example',
      allowedOrigins: [past ?? ''],
    });
    for (const intent of intents) {
      const request = buildRequest(intent, intent.input_parameters.length > 0 ? { port: 'a/b' } : {});
      const caller = { request, service: { service_id: 'tides', ...service }, intentUid: intent.intent_uid };
      await callUpstream(relay, callOf(request.url, caller));
    }
    expect(upstreams.map(({ seen }) => seen.map(({ url }) => url))).toEqual([['/v1/tides/a%2Fb'], ['/old/tides']]);
  } finally {
    relay.close();
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  }
});
