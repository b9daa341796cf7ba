import { describe, expect, test } from '@jest/globals';
import { plan } from './planning.ts';

const hidden = '\u{e0041}\u202e\u200b';

test('hidden characters of a service description are left out and noted', () => {
  const info = { name: `World${hidden}`, description: `Facts${hidden}`, service_url: 'https://world.example' };
  const parameter = { name: 'code', type: 'string', required: true, description: `A code${hidden}` };
  const intent = {
    ...{ intent_uid: 'world.example:get:v1', intent_name: `Get${hidden}`, description: `Gets${hidden}`, tags: [`a${hidden}`] },
    ...{ input_parameters: [parameter], output_parameters: [], endpoint: 'https://world.example/get' },
  };
  const { service, intents, notes } = plan({ 'service-info': info, intents: [intent] });
  expect(service).toMatchObject({ service_name: 'World', description: 'Facts' });
  expect(intents).toMatchObject([{ intent_name: 'Get', description: 'Gets', tags: ['a'], input_parameters: [{ description: 'A code' }] }]);
  const places = ['/service-info', '/intents/0/intent_name', '/intents/0/description', '/intents/0/tags/0'];
  expect(notes.map(({ path }) => path)).toEqual(expect.arrayContaining(places));
});

describe('a service description in a different spelling', () => {
  const info = { name: 'Shop', description: 'Sells things', service_url: 'https://shop.example' };
  const search = {
    intent_uid: 'shop.example:SearchProducts:v1',
    intent_name: 'SearchProducts',
    description: 'Finds products',
    input_parameters: [{ name: 'query', type: 'string', required: true, title: 'Query', example: 'tea' }],
    output_parameters: [{ name: 'products', type: 'array' }],
    endpoint: 'https://shop.example/search',
    tags: ['shop'],
    rate_limit: '1000/hour',
    price: '0.01 USD',
  };

  test('a service description gets slugs in kebab-case, and loses what the registry does not store, with a note for each', () => {
    const { intents, skipped, notes } = plan({
      'service-info': info,
      intents: [search],
      'uim-public-key': 'x',
      'uim-policy-file': 'https://shop.example/uim-policy.json',
      'uim-api-discovery': 'https://shop.example/uim/intents/search',
      'uim-api-execute': 'https://shop.example/uim/execute',
      'uim-license': 'https://shop.example/licence',
      'uim-compliance': { standards: ['ISO27001'] },
    });
    expect(skipped).toEqual([]);
    expect(intents).toEqual([
      {
        intent_uid: 'shop.example:search-products:v1',
        intent_name: 'SearchProducts',
        description: 'Finds products',
        input_parameters: [{ name: 'query', type: 'string', required: true }],
        output_parameters: [{ name: 'products', type: 'array' }],
        endpoint: { url: 'https://shop.example/search', method: 'POST', content_type: 'application/json' },
        tags: ['shop'],
      },
    ]);
    expect(notes).toEqual([
      { path: '/uim-license', note: 'uim-license was left out: the registry does not store it' },
      { path: '/uim-compliance', note: 'uim-compliance was left out: the registry does not store it' },
      { path: '/intents/0/rate_limit', note: 'the member rate_limit was left out: the registry does not store it' },
      { path: '/intents/0/price', note: 'the member price was left out: the registry does not store it' },
      { path: '/intents/0/input_parameters/0/example', note: 'the member example was left out: the registry does not store it' },
      {
        path: '/intents/0/intent_uid',
        note: 'the intent_uid became shop.example:search-products:v1: a slug has lower-case letters, digits and hyphens',
      },
      { path: '/intents/0/endpoint', note: 'the endpoint is only an address; it will be called with POST and JSON' },
    ]);
  });

  test('a service description may have parameters by name, as JSON Schema has them', () => {
    const properties = {
      location: { title: 'Location', type: 'string' },
      min_price: { default: null, title: 'Min Price', type: 'integer' },
      near: { type: ['null', 'boolean'] },
      anything: {},
    };
    const { intents, skipped } = plan({
      'service-info': info,
      intents: [{ ...search, input_parameters: properties, output_parameters: { type: 'object', properties, required: ['location'] } }],
    });
    expect(skipped).toEqual([]);
    const named = [
      { name: 'location', type: 'string' },
      { name: 'min_price', type: 'integer' },
      { name: 'near', type: 'boolean' },
      { name: 'anything', type: 'any' },
    ];
    expect(intents[0]?.input_parameters).toEqual(named);
    expect(intents[0]?.output_parameters).toEqual(named.map((one) => (one.name === 'location' ? { ...one, required: true } : one)));
  });

  test('a service description may have a parameter that is called properties', () => {
    const output_parameters = { properties: { title: 'Properties', type: 'array', items: {} }, total: { type: 'integer' } };
    const { intents } = plan({ 'service-info': info, intents: [{ ...search, output_parameters }] });
    expect(intents[0]?.output_parameters).toEqual([
      { name: 'properties', type: 'array' },
      { name: 'total', type: 'integer' },
    ]);
  });

  test('a service description may use other member names, and omit responses', () => {
    const { intent_name: name, input_parameters, output_parameters: _, rate_limit, price, ...rest } = search;
    const { intents, notes } = plan({
      service_info: info,
      intents: [{ ...rest, name, parameters: { query: { type: 'string', required: true } } }],
    });
    expect(intents[0]).toMatchObject({
      intent_name: 'SearchProducts',
      input_parameters: [{ name: 'query', type: 'string', required: true }],
      output_parameters: [],
    });
    expect(notes).toEqual(
      expect.arrayContaining([
        { path: '/intents/0/name', note: 'the member name was taken as intent_name' },
        { path: '/intents/0/parameters', note: 'the member parameters was taken as input_parameters' },
        { path: '/intents/0', note: 'the response is not described, so it is not checked' },
      ]),
    );
  });

  test.each([
    { serviceUrl: 'https://shop.example', origin: 'https://api.shop.example', isTaken: true },
    { serviceUrl: 'https://www.shop.example/start', origin: 'https://api.shop.example', isTaken: true },
    { serviceUrl: 'https://shop.example', origin: 'https://a.b.shop.example', isTaken: true },
    { serviceUrl: 'https://shop.example', origin: 'https://myshop.example', isTaken: false },
    { serviceUrl: 'https://shop.example', origin: 'https://shop.example.evil.example', isTaken: false },
    { serviceUrl: 'https://shop.example', origin: 'https://api.shop.example:8443', isTaken: false },
    { serviceUrl: 'https://shop.example', origin: 'http://api.shop.example', isTaken: false },
    { serviceUrl: 'https://api.shop.example', origin: 'https://shop.example', isTaken: false },
    { serviceUrl: 'https://example', origin: 'https://shop.example', isTaken: false },
    { serviceUrl: 'https://shop.example', origin: 'shop://api.shop.example', isTaken: false },
  ])('an endpoint of the service $serviceUrl may be at $origin: $isTaken', ({ serviceUrl: service_url, origin, isTaken }) => {
    const { intents, notes } = plan({ 'service-info': { ...info, service_url }, intents: [{ ...search, endpoint: `${origin}/search` }] });
    expect(intents).toHaveLength(isTaken ? 1 : 0);
    const note = { path: '/intents/0/endpoint', note: `is called at ${origin}, a subdomain of the service's host` };
    expect(notes.filter(({ path }) => path === note.path)).toEqual(isTaken ? expect.arrayContaining([note]) : []);
  });

  test('a service description may come from another gate, which percent-encodes path variables', () => {
    const inputs = [{ name: 'id', type: 'string', required: true }];
    const intent = { ...search, intent_uid: 'shop.example:get:v1', input_parameters: inputs, version: '1.0' };
    const { intents, notes } = plan({
      'service-info': info,
      intents: [{ ...intent, endpoint: 'https://shop.example/products/%7Bid%7D/%7Bother%7D' }],
    });
    expect(intents[0]?.endpoint.url).toBe('https://shop.example/products/{id}/%7Bother%7D');
    expect(intents[0]).not.toHaveProperty('version');
    expect(notes).toContainEqual({ path: '/intents/0/version', note: 'the version was left out: it is that of the intent_uid' });
  });

  test('a service description is imported without colliding slugs and intents without an address', () => {
    const { intents, skipped, notes } = plan({
      'service-info': info,
      intents: [search, { ...search, intent_uid: 'shop.example:search_products:v1' }, { ...search, endpoint: undefined }],
    });
    expect(intents).toHaveLength(1);
    expect(skipped.map(({ operation, path }) => [operation, path])).toEqual([
      ['shop.example:search_products:v1', '/intents/1'],
      ['shop.example:SearchProducts:v1', '/intents/2'],
    ]);
    expect(notes.filter(({ path }) => !path.startsWith('/intents/0'))).toEqual([]);
  });

  test.each<{ spelling: string; members: object }>([
    {
      spelling: 'with an underscore',
      members: {
        service_info: { ...info, service_logo_url: 'https://shop.example/logo' },
        'uim-policy-file': 'https://shop.example/policy',
      },
    },
    {
      spelling: 'in the overview form',
      members: {
        service: {
          name: 'Shop',
          description: 'Sells things',
          urls: { base_url: 'https://shop.example', logo: 'https://shop.example/logo' },
        },
        security: { public_key: 'x', policy_url: 'https://shop.example/policy', supported_auth_methods: [] },
      },
    },
  ])('a service description $spelling is read', ({ members }) => {
    const { service, intents } = plan({ ...members, intents: [search] });
    expect(service).toEqual({
      service_name: 'Shop',
      description: 'Sells things',
      service_url: 'https://shop.example',
      policy_url: 'https://shop.example/policy',
      service_logo_url: 'https://shop.example/logo',
    });
    expect(intents).toHaveLength(1);
  });

  test('the plan of a service description lists the credentials that the API requires', () => {
    const security = { supported_auth_methods: ['jwt', 'oauth2'] };
    expect(plan({ service: info, security, intents: [search] }).credentials).toEqual(['jwt', 'oauth2']);
  });
});
