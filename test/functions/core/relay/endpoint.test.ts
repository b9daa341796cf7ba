import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type EgressRules, readEgressRules } from '../../../../functions/core/relay/egress.ts';
import { checkEndpoint, nullRules } from '../../../../functions/core/relay/endpoint.ts';
import type { IntentEndpoint } from '../../../../schemas/intent.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

const production: EgressRules = { ports: [443, 8443], allowLoopback: false, ownHosts: ['gate.example'] };
const development: EgressRules = { ...production, allowLoopback: true };
const inputs: Parameter[] = ['id', 'q', 'page'].map((name) => ({ name, type: 'string' }));

const check = (url: string, rules = production, more: Partial<IntentEndpoint> = {}) =>
  checkEndpoint({ url, method: 'GET', content_type: 'application/json', ...more }, inputs, rules);

const characters = 'must contain only characters that RFC 3986 allows; percent-encode the others';
const absolute = 'must be an absolute URL, for example https://api.example.com/orders/{id}';
const https = 'must begin with https://';
const hostSpelling = 'must spell its host in the canonical form';
const hostCharacters = 'must name its host in ASCII letters, digits, hyphens and dots, and its port in digits without leading zeros';
const hostName = 'must name its host by a full public domain name, not by an address or a local name';
const port = 'must use port 443 or 8443';
const own = 'must not lead back to this gate';
const fragment = 'must not have a fragment';
const dots = 'must not contain . or .. segments in its path';
const user = 'must not contain user information';
const forms = 'must contain only placeholders of the forms {name}, {?name} and {&name}, with several names separated by commas';
const unknown = 'must name an input parameter in each of its placeholders';
const placeInHost = 'must contain placeholders only in its path and query';

test.each<string[]>([
  ['host and port', 'https://api.example.com', 'https://api.example.com:443/a', 'https://api.example.com:8443/a', 'https://1.example.com/'],
  ['letter case and Punycode', 'HTTPS://API.Example.com/Path', 'https://xn--mnchen-3ya.example/', 'https://api.example.com/'],
  [
    'places',
    'https://api.example.com/{id}',
    'https://api.example.com/{id,q}/x{page}.json?a=b&c={q}',
    'https://api.example.com/{id}{?q,page}',
  ],
  ['places in the query alone', 'https://api.example.com{?q}', 'https://api.example.com/?a=1{&q}'],
  ['special characters', "https://api.example.com/a%20b/c;d=e,f!$&'()*+:@~/..a/...?x=/../y"],
])('an endpoint accepts URLs with %s', (_, ...urls) => {
  for (const url of urls) expect([url, check(url)]).toEqual([url, []]);
});

describe('localUpstreams', () => {
  const localUpstreams = ['api', 'db.lan', '192.168.1.7', 'fd12:3456::7', '169.254.169.254', 'fe80::1', 'fd00:ec2::254', '93.184.216.34'];
  const rules: EgressRules = { ...production, localUpstreams };

  const accepted = [
    ...['http://api:8000/openapi.json', 'https://api/', 'HTTP://API:1/', 'http://db.lan/', 'http://192.168.1.7:8221/items/{id}'],
    ...['http://[fd12:3456::7]:8000/', 'https://public.example/'],
  ];
  test.each(accepted)('the URL %s is accepted with localUpstreams', (url) => {
    expect(check(url, rules)).toEqual([]);
  });

  test.each<string[]>([
    [https, 'http://other:8000/', 'http://public.example/', 'http://api.example/', 'http://api./', 'http://192.168.1.8:8221/'],
    [https, 'http://127.0.0.1/'],
    [hostName, 'https://other/', 'https://192.168.1.8/', 'http://169.254.169.254/latest/meta-data', 'http://[fe80::1]/'],
    [hostName, 'http://[fd00:ec2::254]/', 'http://93.184.216.34/'],
    [port, 'https://public.example:8000/'],
    ['must not use port 0', 'http://api:0/'],
    [hostSpelling, 'http://0xc0a80107:8221/'],
    [user, 'http://user@api/'],
  ])('other URLs are refused with localUpstreams: %s', (problem, ...urls) => {
    for (const url of urls) expect(check(url, rules).map((issue) => issue.problem)).toContain(problem);
  });
});

describe('privateOrigins', () => {
  const privateOrigins = ['https://orders.internal', 'https://stock:8444', 'https://10.0.3.7:9443', 'https://[fd12:3456::7]'];
  const rules: EgressRules = { ...production, privateOrigins };

  test.each<[string[], ...string[]]>([
    [[], 'https://orders.internal/{id}', 'https://orders.internal:443/', 'HTTPS://Orders.Internal/', 'https://orders.internal:8443/'],
    [[], 'https://stock:8444/', 'https://10.0.3.7:9443/', 'https://[fd12:3456::7]/', 'https://public.example/'],
    [[https], 'http://orders.internal/', 'http://stock:8444/'],
    [[port], 'https://orders.internal:9443/', 'https://api.orders.internal:9443/'],
    [[hostName], 'https://orders.internal./', 'https://stock/', 'https://stock:8443/', 'https://10.0.3.7/', 'https://10.0.3.7:8443/'],
    [[hostName], 'https://[fd12:3456::7]:8443/', 'https://localhost/', 'https://127.0.0.1/', 'https://169.254.169.254/latest/meta-data'],
    [[user], 'https://user@orders.internal/'],
    [[hostName, port], 'https://10.0.3.8:9443/'],
    [[hostSpelling], 'https://0xa000307:9443/'],
    [[hostSpelling, port], 'https://[::ffff:10.0.3.7]:9443/'],
  ])('URLs have the problems %j with privateOrigins', (problems, ...urls) => {
    for (const url of urls) expect(check(url, rules).map((issue) => issue.problem)).toEqual(problems);
  });

  test('this gate stays out of privateOrigins, even if it is named', () => {
    const named = { ...rules, privateOrigins: ['https://gate.example'] };
    expect(check('https://gate.example/', named).map((issue) => issue.problem)).toEqual([own]);
  });
});

describe('refused URLs', () => {
  const cases: [problem: string, ...urls: string[]][] = [
    [absolute, '', '/orders', '//api.example.com/', 'api.example.com/orders', 'mailto:a@b.example', 'https:api.example.com'],
    [absolute, 'https:/api.example.com', 'javascript:alert(1)', '{id}://api.example.com/', '{id}'],
    [https, 'http://api.example.com/', 'ftp://api.example.com/', 'file:///etc/passwd', 'gopher://api.example.com/'],
    [https, 'wss://api.example.com/', 'unix://api.example.com/'],
    [hostCharacters, 'https://', 'https:///path', 'https://:443/', 'https://?q', 'https://api.example.com:/'],
    [hostCharacters, 'https://api.example.com:0443/', 'https://api.example.com:65536/', 'https://api.example.com:+443/'],
    [hostCharacters, 'https://api.example.com:443:443/', 'https://api_x.example.com/', 'https://api.ex%61mple.com/'],
    [hostCharacters, 'https://api%2eexample.com/', 'https://api.example.com%00.evil.example/'],
    [user, 'https://user@api.example.com/', 'https://user:password@api.example.com/', 'https://@api.example.com/'],
    [user, 'https://api.example.com@evil.example/'],
    [fragment, 'https://api.example.com/#', 'https://api.example.com/a#b', 'https://api.example.com/{id}#{q}'],
    [port, 'https://api.example.com:80/', 'https://api.example.com:22/', 'https://api.example.com:0/'],
    [hostName, 'https://api.example.com./', 'https://.example.com/', 'https://api..example.com/', 'https://-api.example.com/'],
    [hostName, 'https://api-.example.com/', 'https://intranet/', 'https://localhost/', 'https://LOCALHOST/', 'https://localhost./'],
    [hostName, 'https://a.localhost/', `https://${'a'.repeat(64)}.example/`, `https://${'a.'.repeat(127)}example/`],
    [own, 'https://gate.example/', 'https://GATE.example:443/api/intents/execute'],
    [characters, 'https://api.example.com/a b', 'https://api.example.com/\ta', 'https://api.example.com/\n'],
    [characters, 'https://api.example.com\\@evil.example/', 'https://api.example.com/\\..\\a', 'https://api.example.com/%'],
    [characters, 'https://api.example.com/%zz', 'https://api.example.com/ä', 'https://münchen.example/', 'https://api。example。com/'],
    [characters, 'https://ａpi.example.com/', 'https://api.example.com/<a>', 'https://api.example.com/"a"', ' https://api.example.com/'],
    [characters, 'https://api.example.com/\u202e'],
    [dots, 'https://api.example.com/a/../b', 'https://api.example.com/./b', 'https://api.example.com/..'],
    [dots, 'https://api.example.com/%2e%2E/b', 'https://api.example.com/.%2e/b'],
    [placeInHost, 'https://{id}.example.com/', 'https://api.example.com{id}/', 'https://{id}/', 'https://api.example.com:{id}/'],
    [forms, 'https://api.example.com/{}', 'https://api.example.com/{id', 'https://api.example.com/id}', 'https://api.example.com/{{id}}'],
    [forms, 'https://api.example.com/{+id}', 'https://api.example.com/{#id}', 'https://api.example.com/{/id}'],
    [forms, 'https://api.example.com/{.id}', 'https://api.example.com/{;id}', 'https://api.example.com/{id*}'],
    [forms, 'https://api.example.com/{id:3}', 'https://api.example.com/{id,}', 'https://api.example.com/{id..q}'],
    [forms, 'https://api.example.com/{?id&q}'],
    [unknown, 'https://api.example.com/{other}', 'https://api.example.com/{id}{?other}', 'https://api.example.com/{toString}'],
  ];
  test.each(cases.flatMap(([problem, ...urls]) => urls.map((url) => [url, problem])))('the URL %j is refused: %s', (url, problem) => {
    expect(check(url)).toEqual([{ path: '/endpoint/url', problem }]);
  });

  test('a URL is refused with every problem at once', () => {
    expect(check('https://api.example.com:80/../{other}').map(({ problem }) => problem)).toEqual([port, dots, unknown]);
  });
});

/** Ways to write addresses in URLs: loopback, instance metadata, private and public ones. */
const addressSpellings = [
  ...[
    ...['127.0.0.1', '169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '0.0.0.0', '255.255.255.255'],
    ...['224.0.0.1', '8.8.8.8'],
  ].flatMap((address) => {
    const bytes = address.split('.').map(Number);
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    const whole = ((a * 256 + b) * 256 + c) * 256 + d;
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const [high, low] = [hex.slice(0, 4), hex.slice(4)];
    return [
      address,
      `${address}.`,
      String(whole),
      `0${whole.toString(8)}`,
      `0x${hex}`,
      `0X${hex.toUpperCase()}`,
      bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
      bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
      bytes.map((byte) => `000${byte.toString(8)}`).join('.'),
      `${a}.${b}.${c * 256 + d}`,
      `${a}.${(b * 256 + c) * 256 + d}`,
      `0x${a.toString(16)}.${(b * 256 + c) * 256 + d}`,
      address.replaceAll('.', '%2e'),
      address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
      address.replaceAll('.', '。'),
      address.replace('1', '①'),
      `[::ffff:${address}]`,
      `[::${address}]`,
      `[::ffff:${high}:${low}]`,
      `[0:0:0:0:0:ffff:${high}:${low}]`,
      `[64:ff9b::${address}]`,
      `[2002:${high}:${low}::]`,
      `[2001::${high}:${low}]`,
      `[${address}]`,
      `${address}%00.example.com`,
    ];
  }),
  ...[
    ...['::1', '::', '0:0:0:0:0:0:0:1', 'fe80::1', 'fe80::1%25eth0', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
    ...['2001:db8::1', '2606:4700:4700::1111'],
  ].map((address) => `[${address}]`),
  ...['[::1', '::1', '[]', '[::1].example.com', '0', '1', '00', '0x', '0x0', '127', '127.1', '127.0.1', '0.0.0.0.0', '256.256.256.256'],
  ...['4294967296', '1.2.3.4.5', 'example.0x1', '1e1'],
];

test.each(addressSpellings)('an address is refused as a host: %s', (host) => {
  const [issue] = check(`https://${host}/`);
  expect([hostSpelling, hostCharacters, hostName, characters]).toContain(issue?.problem);
  expect(issue?.path).toBe('/endpoint/url');
});

describe('local development', () => {
  const accepted = [
    ...['http://localhost:4000/{id}', 'http://127.0.0.1:4000/', 'http://127.9.9.9/', 'http://[::1]:4000/', 'https://localhost/'],
    ...['https://api.example.com:4000/', 'http://api.localhost:1/'],
  ];
  test.each(accepted)('the URL %s is accepted in local development', (url) => {
    expect(check(url, development)).toEqual([]);
  });

  test.each<string[]>([
    [hostName, 'http://10.0.0.1/', 'http://169.254.169.254/', 'http://0.0.0.0/', 'http://[::ffff:a00:1]/', 'http://[::ffff:7f00:1]/'],
    [hostSpelling, 'http://2130706433/', 'http://[::ffff:127.0.0.1]/'],
    [user, 'http://user@localhost/'],
    [https, 'ftp://localhost/'],
    ['must not use port 0', 'http://localhost:0/'],
  ])('URLs are still refused in local development: %s', (problem, ...urls) => {
    for (const url of urls) expect(check(url, development)).toEqual([{ path: '/endpoint/url', problem }]);
  });
});

const mediaTypes =
  'must be application/json, another JSON type ending in +json, application/x-www-form-urlencoded or multipart/form-data, unless one parameter is the body';

test.each([
  ['POST', 'application/json', true],
  ['PATCH', 'application/merge-patch+json', true],
  ['POST', 'application/x-www-form-urlencoded', true],
  ['POST', 'application/x-www-form-urlencoded; charset=utf-8', true],
  ['POST', 'application/vnd.api+json;ext="a"', true],
  ['POST', 'multipart/form-data', true],
  ['GET', 'text/plain', true],
  ['POST', 'text/plain', false],
  ['PUT', 'application/xml', false],
] as const)('a %s of %s is accepted: %s', (method, content_type, isAccepted) => {
  const issues = isAccepted ? [] : [{ path: '/endpoint/content_type', problem: mediaTypes }];
  expect(check('https://api.example.com/', production, { method, content_type })).toEqual(issues);
});

describe('what carries the parameters', () => {
  const post = { url: 'https://api.example.com/{id}', method: 'POST', content_type: 'application/json' } as const;
  const form = { ...post, content_type: 'application/x-www-form-urlencoded' } as const;
  const id: Parameter = { name: 'id', type: 'string' };
  const named: Parameter = { name: 'a', type: 'object' };
  const text: Parameter = { name: 'a', type: 'string' };
  const multipart = { ...post, content_type: 'multipart/form-data' } as const;
  const csv = { ...post, content_type: 'text/csv' } as const;
  const file: Parameter = { ...text, style: 'base64' };
  const notNamed = 'must name an input parameter that has no placeholder in the URL and no member "in", or be null';
  const noBytes = 'may be base64 only for a string that is a body other than JSON, or part of a multipart form';
  const noField = 'must be left out, because the parameter is not in a query or form';
  const noPart = 'must be left out, because the parameter is not part of a multipart form';
  const ofWhat = 'must name a file in a multipart form, or for a content_type also a part, or a body that is text or bytes';
  const inUrl = 'must be left out, because the parameter has a placeholder in the URL';
  const hasBody = 'must not be body, because the endpoint already defines its body';
  const callersForm = 'must be multipart/form-data without parameters, or application/x-www-form-urlencoded, if the body is a form';
  const mustBe = (type: string) => `must name a parameter of type ${type} for this content type`;

  test.each<[string, IntentEndpoint, Parameter[]]>([
    ['a whole body', { ...post, body: 'a' }, [id, named]],
    ['a whole body of text', { ...csv, body: 'a' }, [id, text]],
    ['no body', { ...csv, body: null }, [id, text]],
    ['the query of a POST', post, [id, { ...text, in: 'query', style: 'pipes' }]],
    ['the body of a DELETE', { ...post, method: 'DELETE' }, [id, { ...text, in: 'body' }]],
    ['bytes', { ...post, content_type: 'image/png', body: 'a' }, [id, file]],
    ['files', multipart, [id, file]],
    ['a list of files', multipart, [id, { name: 'a', type: 'array', style: 'base64' }]],
    ['a form in brackets', form, [id, { ...named, style: 'brackets' }]],
    ['a query in brackets beside a whole body', { ...post, body: 'a' }, [id, named, { ...named, name: 'b', style: 'brackets' }]],
    ['the type of a part', multipart, [id, { ...text, content_type: 'text/csv' }]],
    ['the name of a file', multipart, [id, file, { name: 'b', type: 'string', in: 'filename', of: 'a' }]],
    ['the chosen type of a part', multipart, [id, text, { name: 'b', type: 'string', in: 'content_type', of: 'a' }]],
    ['the chosen type of text', { ...csv, body: 'a' }, [id, text, { name: 'b', type: 'string', in: 'content_type', of: 'a' }]],
    [
      'names of files and their types',
      multipart,
      [
        id,
        { name: 'a', type: 'array', style: 'base64' },
        { name: 'b', type: 'array', in: 'filename', of: 'a' },
        { name: 'c', type: 'array', in: 'content_type', of: 'a' },
      ],
    ],
  ])('an endpoint may have %s', (_, endpoint, parameters) => {
    expect(checkEndpoint(endpoint, parameters, production)).toEqual([]);
  });

  test.each<{ what: string; endpoint?: IntentEndpoint; inputs: Parameter[]; path: string; problem: string }>([
    { what: 'bytes in JSON', endpoint: { ...post, body: 'a' }, inputs: [id, file], path: '/input_parameters/1/style', problem: noBytes },
    { what: 'bytes in a form', endpoint: form, inputs: [id, file], path: '/input_parameters/1/style', problem: noBytes },
    { what: 'bytes in a query', inputs: [id, { ...file, in: 'query' }], path: '/input_parameters/1/style', problem: noBytes },
    { what: 'bytes in the URL', inputs: [{ ...id, style: 'base64' }], path: '/input_parameters/0/style', problem: noBytes },
    {
      what: 'files that are no texts',
      endpoint: multipart,
      inputs: [id, { ...named, style: 'base64' }],
      path: '/input_parameters/1/style',
      problem: noBytes,
    },
    {
      what: 'a whole body that is no parameter',
      endpoint: { ...post, body: 'b' },
      inputs: [id, named],
      path: '/endpoint/body',
      problem: notNamed,
    },
    { what: 'a whole body that is in the URL', endpoint: { ...post, body: 'id' }, inputs: [id], path: '/endpoint/body', problem: notNamed },
    {
      what: 'a whole body that is in the query',
      endpoint: { ...post, body: 'a' },
      inputs: [id, { ...text, in: 'query' }],
      path: '/endpoint/body',
      problem: notNamed,
    },
    {
      what: 'a whole text that is no text',
      endpoint: { ...csv, body: 'a' },
      inputs: [id, named],
      path: '/endpoint/body',
      problem: mustBe('string'),
    },
    {
      what: 'a whole form that is no object',
      endpoint: { ...form, body: 'a' },
      inputs: [id, text],
      path: '/endpoint/body',
      problem: mustBe('object'),
    },
    { what: 'two places', inputs: [{ ...id, in: 'query' }], path: '/input_parameters/0/in', problem: inUrl },
    {
      what: 'two bodies',
      endpoint: { ...post, body: 'a' },
      inputs: [id, named, { ...text, name: 'b', in: 'body' }],
      path: '/input_parameters/2/in',
      problem: hasBody,
    },
    {
      what: 'a DELETE of text',
      endpoint: { ...csv, method: 'DELETE' },
      inputs: [id, { ...text, in: 'body' }],
      path: '/endpoint/content_type',
      problem: mediaTypes,
    },
    { what: 'a style in the path', inputs: [{ ...id, style: 'commas' }], path: '/input_parameters/0/style', problem: noField },
    { what: 'a style in JSON', inputs: [id, { ...named, style: 'brackets' }], path: '/input_parameters/1/style', problem: noField },
    {
      what: 'a style of a whole body',
      endpoint: { ...form, body: 'a' },
      inputs: [id, { ...named, style: 'json' }],
      path: '/input_parameters/1/style',
      problem: noField,
    },
    {
      what: 'the name of a text',
      endpoint: multipart,
      inputs: [id, text, { ...text, name: 'b', in: 'filename', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the name of nothing',
      endpoint: multipart,
      inputs: [id, file, { ...text, name: 'b', in: 'filename' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the name of a variable',
      endpoint: multipart,
      inputs: [id, { ...text, name: 'b', in: 'filename', of: 'id' }],
      path: '/input_parameters/1/of',
      problem: ofWhat,
    },
    {
      what: 'the name of a body',
      endpoint: { ...csv, body: 'a' },
      inputs: [id, text, { ...text, name: 'b', in: 'filename', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the type of JSON',
      endpoint: { ...post, body: 'a' },
      inputs: [id, text, { ...text, name: 'b', in: 'content_type', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the type of a member',
      inputs: [id, text, { ...text, name: 'b', in: 'content_type', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the type of a form',
      endpoint: { ...form, body: 'a' },
      inputs: [id, named, { ...text, name: 'b', in: 'content_type', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the type of a type',
      endpoint: multipart,
      inputs: [id, { ...text, in: 'content_type', of: 'a' }],
      path: '/input_parameters/1/of',
      problem: ofWhat,
    },
    { what: 'a text of another input', inputs: [id, { ...text, of: 'id' }], path: '/input_parameters/1/of', problem: ofWhat },
    {
      what: 'two names of a file',
      endpoint: multipart,
      inputs: [id, file, { ...text, name: 'b', in: 'filename', of: 'a' }, { ...text, name: 'c', in: 'filename', of: 'a' }],
      path: '/input_parameters/3/of',
      problem: 'must not name the same parameter as another input of this kind',
    },
    {
      what: 'one name of many files',
      endpoint: multipart,
      inputs: [id, { name: 'a', type: 'array', style: 'base64' }, { ...text, name: 'b', in: 'filename', of: 'a' }],
      path: '/input_parameters/2/type',
      problem: 'must be array, because of the parameter that it describes',
    },
    {
      what: 'the type of JSON text in a part',
      endpoint: multipart,
      inputs: [id, { ...named, style: 'json' }, { ...text, name: 'b', in: 'content_type', of: 'a' }],
      path: '/input_parameters/2/of',
      problem: ofWhat,
    },
    {
      what: 'the type of no part',
      endpoint: form,
      inputs: [id, { ...text, content_type: 'text/csv' }],
      path: '/input_parameters/1/content_type',
      problem: noPart,
    },
    ...[
      'application/x-www-form-urlencoded-v2',
      'text/X-URLEncoded',
      'application/x-www-form-urlencoded+json',
      'application/json; x=URLEncoded',
      'multipart/mixed',
      'Multipart/form-data; charset=utf-8',
    ].map((type) => ({
      what: `a form that the caller writes, ${type}`,
      endpoint: { ...post, content_type: type, body: 'a' },
      inputs: [id, text],
      path: '/endpoint/content_type',
      problem: callersForm,
    })),
  ])('an endpoint must not have $what', ({ endpoint = post, inputs, path, problem }) => {
    expect(checkEndpoint(endpoint, inputs, production)).toEqual([{ path, problem }]);
  });
});

test('whatever the text, only an https URL with an allowed port and a domain name is accepted', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc
      .tuple(fc.constantFrom('https://', 'http://', 'https:\\\\', '//'), fc.string(), fc.constantFrom('/', '?', '#', '\\', ''))
      .map((parts) => parts.join('')),
    fc.tuple(fc.ipV4Extended(), fc.nat(70_000)).map(([address, number]) => `https://${address}:${number}/`),
    fc.ipV6().map((address) => `https://[${address}]/`),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      if (check(text).length > 0) return;
      const { protocol, hostname, port: used, username, password, hash } = new URL(text);
      expect([protocol, username, password, hash]).toEqual(['https:', '', '', '']);
      expect(hostname).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
      expect(hostname).not.toMatch(/^[0-9.]+$/);
      expect(['', '8443']).toContain(used);
    }),
    { numRuns: 1000 },
  );
});

describe('egress rules', () => {
  test('the egress rules are read from variables', () => {
    expect(readEgressRules({})).toEqual({ ports: [443], allowLoopback: false, ownHosts: [] });
    expect(readEgressRules({ egressPorts: '443, 8443', egressLoopback: 'true', baseUrl: 'https://Gate.example:443/prod' })).toEqual({
      ports: [443, 8443],
      allowLoopback: true,
      ownHosts: ['gate.example'],
    });
    expect(readEgressRules({ localUpstreams: 'api, 192.168.1.7' })).toMatchObject({
      localUpstreams: ['api', '192.168.1.7'],
      allowLoopback: false,
    });
    expect(readEgressRules({ privateOrigins: 'https://a.internal, https://b.internal:8443' })).toMatchObject({
      privateOrigins: ['https://a.internal', 'https://b.internal:8443'],
    });
    expect(readEgressRules({ egressLoopback: '1' }).allowLoopback).toBe(false);
  });

  test.each(['0', '65536', 'https', '443.5', '-1'])('a port %s in the egress rules stops the start', (egressPorts) => {
    expect(() => readEgressRules({ egressPorts })).toThrow(
      new TypeError('the egress ports must be whole numbers from 1 to 65535, separated by commas'),
    );
  });
});

const mergePatch = 'application/merge-patch+json';
const [left, allowed, removal] = ['left out', 'value if allowed', 'value'];

test.each<[string, Partial<IntentEndpoint>, string[]]>([
  ['the members of a JSON body', { method: 'PATCH' }, [left, allowed, allowed, left]],
  ['a form', { method: 'POST', content_type: 'application/x-www-form-urlencoded' }, [left, left, left, left]],
  ['a query', { method: 'GET' }, [left, left, left, left]],
  ['the whole body', { method: 'PUT', body: 'q', content_type: mergePatch }, [left, allowed, left, left]],
  ['the optional members of a merge patch', { method: 'PATCH', content_type: mergePatch }, [left, removal, allowed, left]],
  ['a merge patch with a parameter', { method: 'PATCH', content_type: `${mergePatch}; v=2` }, [left, removal, allowed, left]],
])('null is written as the endpoint says in the path, two members and a header field: %s', (_, more, rules) => {
  const endpoint = { url: 'https://api.example.com/{id}', method: 'GET', content_type: 'application/json', ...more } as IntentEndpoint;
  const named: Parameter[] = [
    { name: 'id', type: 'string' },
    { name: 'q', type: 'string' },
    { name: 'page', type: 'string', required: true },
    { name: 'X-Note', type: 'string', in: 'header' },
  ];
  expect(named.map(nullRules(endpoint))).toEqual(rules);
});
