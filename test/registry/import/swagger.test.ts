import { describe, expect, test } from '@jest/globals';
import { operation, plan, text } from './planning.ts';

describe('Swagger 2.0', () => {
  const swagger = (item: object, more: object = {}) => ({
    swagger: '2.0',
    info: { version: '1' },
    host: 'things.example',
    paths: { '/things': item },
    ...more,
  });
  const act = (...parameters: object[]) => ({ post: operation({ parameters }) });
  const field = (name: string, more: object = {}) => ({ name, in: 'formData', type: 'string', ...more });

  test('a body and parameters may be shared, also by all operations of a path', () => {
    const parameters = {
      Body: { name: 'body', in: 'body', schema: { $ref: '#/definitions/Thing' } },
      Page: { name: 'page', in: 'query', type: 'integer' },
    };
    const definitions = { Thing: { properties: { size: { type: 'integer', minimum: 1, exclusiveMinimum: true } } } };
    const item = { parameters: [{ $ref: '#/parameters/Page' }], ...act({ $ref: '#/parameters/Body' }) };
    expect(plan(swagger(item, { parameters, definitions })).intents[0]?.input_parameters).toEqual([
      { name: 'size', type: 'integer', minimum: 2 },
      { name: 'page', type: 'integer', in: 'query' },
    ]);
  });

  test('a form is sent as one, whatever the document says about bodies, and its lists are joined by commas by default', () => {
    const { intents, notes } = plan(swagger(act(field('a'), field('b', { type: 'array' })), { consumes: ['application/json'] }));
    expect(intents[0]?.endpoint.content_type).toBe('application/x-www-form-urlencoded');
    expect(intents[0]?.input_parameters).toEqual([
      { name: 'a', type: 'string' },
      { name: 'b', type: 'array', style: 'commas' },
    ]);
    expect(notes).toEqual([]);
  });

  test.each([
    { type: 'Multipart/Form-Data; charset=utf-8', expected: 'multipart/form-data' },
    { type: 'application/x-www-form-urlencoded; charset=utf-8', expected: 'application/x-www-form-urlencoded' },
  ])('a form of the type $type is sent as $expected', ({ type, expected }) => {
    const { intents, notes } = plan(swagger(act(field('a')), { consumes: ['application/json', type] }));
    expect([intents[0]?.endpoint.content_type, notes]).toEqual([expected, []]);
  });

  test('lists of lists are left out, because each may be joined in its own way', () => {
    const lists = { name: 'a', in: 'query', type: 'array', items: { type: 'array', items: text } };
    expect(plan(swagger(act(field('other'), lists))).notes.map(({ note }) => note)).toEqual([
      'the parameter a was left out: its values are serialised in an unsupported way',
    ]);
  });

  const formats: { collectionFormat: string; written?: object }[] = [
    { collectionFormat: 'csv', written: { style: 'commas' } },
    { collectionFormat: 'ssv', written: { style: 'spaces' } },
    { collectionFormat: 'pipes', written: { style: 'pipes' } },
    { collectionFormat: 'multi', written: {} },
    // left out
    { collectionFormat: 'tsv' },
  ];
  const forms = ['application/x-www-form-urlencoded', 'multipart/form-data'];
  test.each(forms.flatMap((form) => formats.map((one) => ({ ...one, form }))))(
    'lists in queries and forms of the type $form that are joined by $collectionFormat get their style, or are left out',
    ({ collectionFormat, written, form }) => {
      const lists = ['query', 'formData'].map((place) => ({ name: place, in: place, type: 'array', collectionFormat }));
      const read = [
        { name: 'formData', type: 'array', ...written },
        { name: 'query', type: 'array', in: 'query', ...written },
      ];
      const planned = plan(swagger(act(field('other'), ...lists), { consumes: [form] })).intents[0];
      const [other, ...inputs] = planned?.input_parameters ?? [];
      expect([planned?.endpoint.content_type, other, inputs]).toEqual([form, { name: 'other', type: 'string' }, written ? read : []]);
    },
  );

  test('a form of which no member can be sent is skipped, with the reason', () => {
    const tabs = field('a', { type: 'array', collectionFormat: 'tsv' });
    const skipped = (type: string) => plan(swagger(act(tabs), { consumes: [type] })).skipped.map(({ reason }) => reason);
    expect(skipped('multipart/form-data')).toEqual(['has only members that calls cannot send']);
  });

  test.each([
    { collectionFormat: undefined, words: 'commas' },
    { collectionFormat: 'csv', words: 'commas' },
    { collectionFormat: 'ssv', words: 'spaces' },
    { collectionFormat: 'pipes', words: 'vertical bars (|)' },
    { collectionFormat: 'tsv', words: 'tabs' },
  ])('a header field that is a list says what separates its values: $collectionFormat', ({ collectionFormat, words }) => {
    const lists = { name: 'X-Ids', in: 'header', type: 'array', collectionFormat };
    const [input] = plan(swagger(act(lists))).intents[0]?.input_parameters ?? [];
    expect(input?.description).toBe(`Several values are separated by ${words}.`);
  });

  test('only the invalid operation is skipped', () => {
    const item = {
      ...act({ name: 'a', in: 'query', type: 'string' }),
      get: operation({ parameters: [null] }),
      put: operation({ responses: { 200: { $ref: '#/responses/None' } } }),
    };
    const { intents, skipped } = plan(swagger(item, { securityDefinitions: { none: null }, definitions: { none: null } }));
    expect(intents.map(({ endpoint }) => endpoint.method)).toEqual(['POST']);
    expect(skipped).toEqual([
      { operation: 'GET /things', path: '/paths/~1things/get', reason: 'has a parameter without a name or a known place' },
      {
        operation: 'PUT /things',
        path: '/paths/~1things/put/responses/200',
        reason: 'cannot be read: the reference does not exist in this document',
      },
    ]);
  });
});
