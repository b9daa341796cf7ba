import { describe, expect, test } from '@jest/globals';
import { credentialOption } from '../../../registry/import/credentials.ts';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { document, operation, plan, planOperation, query, text } from './planning.ts';

describe('headers', () => {
  const header = (name: string, schema: object = text, more: object = {}) => ({ name, in: 'header', schema, ...more });
  const planHeaders =
    (...lists: object[][]) =>
    (options: Partial<ImportOptions> = {}) => {
      const paths = lists.map((parameters, at) => [`/${at}`, { get: operation({ operationId: `act ${at}`, parameters }) }]);
      const { service, intents, notes, skipped } = plan(document(Object.fromEntries(paths)), options);
      return { headers: service.headers, inputs: intents.map(({ input_parameters }) => input_parameters), notes, skipped };
    };
  const version = (value: string) => header('Api-Version', { type: 'string', enum: [value] }, { required: true });

  test.each<{ what: string; schema: object; value: string }>([
    { what: 'const', schema: { const: '2' }, value: '2' },
    { what: 'an enum of one', schema: { type: 'integer', enum: [2] }, value: '2' },
  ])(
    'a required header parameter with $what becomes a header field of the service, an optional one stays an input',
    ({ schema, value }) => {
      const parameters = [header('X-Version', schema, { required: true })];
      expect(planHeaders(parameters, parameters, [])()).toMatchObject({ headers: { 'X-Version': value }, inputs: [[], [], []] });
      expect(planHeaders(parameters, parameters, [])({ ignoreHeaders: ['x-version'] })).toMatchObject({
        headers: undefined,
        inputs: [[], [], []],
      });
      const optional = [header('X-Version', schema)];
      const input = { name: 'X-Version', in: 'header' };
      expect(planHeaders(optional, parameters)()).toMatchObject({ headers: undefined, inputs: [[input], [{ ...input, required: true }]] });
    },
  );

  test('different values, or values of few operations, become defaults of inputs', () => {
    const input = (value: string) => ({ name: 'Api-Version', type: 'string', required: true, default: value, enum: [value], in: 'header' });
    expect(planHeaders([version('1')], [version('2')])()).toMatchObject({ headers: undefined, inputs: [[input('1')], [input('2')]] });
    expect(planHeaders([version('1')], [], [])()).toMatchObject({ headers: undefined, inputs: [[input('1')], [], []] });
  });

  test.each<{ what: string; schema: object; more: object; kept: object }>([
    { what: 'an optional one with one value', schema: { type: 'string', enum: ['1'] }, more: {}, kept: { type: 'string', enum: ['1'] } },
    {
      what: 'an optional version',
      schema: { type: 'string', default: '2' },
      more: {},
      kept: { type: 'string', description: 'Default: 2' },
    },
    {
      what: 'a required version',
      schema: { type: 'integer', default: 2 },
      more: { required: true },
      kept: { type: 'integer', required: true, description: 'Default: 2' },
    },
    {
      what: 'a required one with two values',
      schema: { type: 'string', enum: ['1', '2'], default: '2' },
      more: { required: true },
      kept: { type: 'string', required: true, description: 'Default: 2', enum: ['1', '2'] },
    },
  ])('the value of $what is never sent', ({ schema, more, kept }) => {
    const parameters = [header('Api-Version', schema, more)];
    const isConstant = 'enum' in schema && (schema.enum as string[]).length === 1;
    const lists = isConstant ? [parameters, [], []] : [parameters, parameters];
    const { headers, inputs } = planHeaders(...lists)();
    expect([headers, inputs[0]]).toEqual([undefined, [{ name: 'Api-Version', in: 'header', ...kept }]]);
  });

  test('values of the admin take precedence', () => {
    const planned = planHeaders([version('1'), header('X-Debug')], [version('2')]);
    expect(planned({ headers: { 'api-version': '3' }, ignoreHeaders: ['x-debug'] })).toMatchObject({
      headers: { 'api-version': '3' },
      inputs: [[], []],
    });
    expect(planned({ headers: { 'Api-Version': '3' }, findsHeaders: false }).inputs).toEqual([
      [{ name: 'X-Debug', type: 'string', in: 'header' }],
      [],
    ]);
  });

  test.each(['Authorization', 'token', 'X-Api-Key', 'X-Acme-Access-Token', 'api_key'])('the header %s counts as the credential', (name) => {
    const { inputs, notes } = planHeaders([header(name, text, { required: true }), query(name)])();
    expect(inputs).toEqual([name === 'Authorization' ? [{ name, type: 'string' }] : []]);
    expect(notes[0]?.note).toBe(`the header ${name} was left out: it is the service's credential, which the gate adds to its calls`);
  });

  test('a field with the name of the credential stays an input of an operation without security', () => {
    const components = { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'token' } } };
    const requestBody = { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object', properties: { token: text } } } } };
    const namesOf = (more: object) =>
      planOperation({ requestBody, parameters: [query('q')], ...more }, {}, components).intents[0]?.input_parameters.map(
        ({ name }) => name,
      );
    expect(namesOf({ security: [{ key: [] }] })).toEqual(['q']);
    expect(namesOf({ security: [] })).toEqual(['token', 'q']);
    // calls would replace the value by that of the credential
    components.securitySchemes.key.in = 'query';
    expect(namesOf({ security: [] })).toEqual(['q']);
  });

  test.each(['X-Request-Id', 'traceparent', 'TraceState'])('the header %s, which the gate sends itself, is not an input', (name) => {
    expect(planHeaders([header(name, text, { required: true })])()).toMatchObject({ inputs: [[]], notes: [], skipped: [] });
  });

  test.each([
    { type: 'array', more: {}, described: 'Several values are separated by commas.' },
    { type: 'object', more: {}, described: 'The members are written as a,1,b,2.' },
    { type: 'object', more: { explode: true }, described: 'The members are written as a=1,b=2.' },
  ])('a header field that is an $type is a text with commas: $more', ({ type, more, described }) => {
    expect(planHeaders([header('X-Tags', { type, items: text }, more)])().inputs).toEqual([
      [{ name: 'X-Tags', type: 'string', description: described, in: 'header' }],
    ]);
  });
});

describe('the options that set the credential', () => {
  const schemes = {
    header: { type: 'apiKey', in: 'header', name: 'X-Key' },
    query: { type: 'apiKey', in: 'query', name: "k'ey" },
    cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
    bearer: { type: 'http', scheme: 'bearer' },
    basic: { type: 'http', scheme: 'Basic' },
    digest: { type: 'http', scheme: 'digest' },
    oauth: { type: 'oauth2' },
    host: { type: 'apiKey', in: 'header', name: 'Host' },
  };
  test.each<{ names: (keyof typeof schemes)[]; security: object[]; options: string[] }>([
    { names: ['header', 'query'], security: [], options: ['--header X-Key'] },
    { names: ['query', 'header'], security: [], options: ["--query 'k'\\''ey'"] },
    { names: ['header', 'bearer'], security: [{ bearer: [] }], options: ['--bearer'] },
    { names: ['header', 'basic'], security: [{ basic: [] }], options: ['--basic'] },
    { names: ['header', 'digest'], security: [{ digest: [] }], options: ['--header Authorization'] },
    { names: ['header', 'query', 'bearer'], security: [{ header: [], query: [] }], options: ['--header X-Key', "--query 'k'\\''ey'"] },
    { names: ['header', 'cookie'], security: [{ cookie: [] }], options: ['--header X-Key'] },
    { names: ['oauth', 'bearer'], security: [{ oauth: [], bearer: [] }], options: ['--bearer'] },
    { names: ['cookie', 'host'], security: [{ cookie: [] }, {}], options: [] },
    { names: [], security: [{ unknown: [] }], options: [] },
  ])('the schemes $names with the requirements $security give the options $options', ({ names, security, options }) => {
    const securitySchemes = Object.fromEntries(names.map((name) => [name, schemes[name]]));
    expect(plan(document({}, { components: { securitySchemes }, security })).credentialLocations.map(credentialOption)).toEqual(options);
  });
});
