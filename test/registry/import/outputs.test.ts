import { describe, expect, test } from '@jest/globals';
import { json, plan, planOperation, text } from './planning.ts';

test.each<{ what: string; content: object; outputs: [name: string, description: string][] }>([
  { what: 'text', content: { 'text/csv': {}, 'application/xml': {} }, outputs: [['value', 'Text of type text/csv or application/xml']] },
  { what: 'bytes', content: { 'image/png': {} }, outputs: [['base64', 'Base64-encoded content of type image/png']] },
  {
    what: 'either',
    content: { 'text/csv; header=present': {}, 'Application/PDF': {} },
    outputs: [
      ['value', 'Text of type text/csv'],
      ['base64', 'Base64-encoded content of type application/pdf'],
    ],
  },
])('the outputs of a response that is $what describe its content', ({ content, outputs }) => {
  const all = [...outputs, ['content_type', 'The media type of the content']];
  expect(planOperation({ responses: { 200: { content } } })).toMatchObject({
    intents: [{ output_parameters: all.map(([name, description]) => ({ name, type: 'string', description })) }],
    skipped: [],
    notes: [],
  });
});

test.each([
  [['302', '400'], true],
  [['3XX', 'default'], true],
  [['200', '302'], false],
  [['304', 'default'], false],
  [['204'], false],
])('an operation with the responses %j is noted as one that the gate cannot complete: %s', (statuses, isNoted) => {
  const { notes } = planOperation({ responses: Object.fromEntries(statuses.map((status) => [status, { description: 'It' }])) });
  const note = 'its success is a redirect, which the gate does not follow: calls end with 502';
  expect(notes.map(({ note }) => note)).toEqual(isNoted ? [note] : []);
});

test('a response that is text or JSON is described as JSON', () => {
  const responses = { 200: { content: { 'text/csv': {}, ...json({ type: 'object', properties: { a: text } }).content } } };
  expect(planOperation({ responses })).toMatchObject({ intents: [{ output_parameters: [{ name: 'a', type: 'string' }] }], notes: [] });
});

test.each<{ what: string; schema: object; output: object }>([
  { what: 'a list', schema: { type: 'array', items: text }, output: { name: 'items', type: 'array', required: true } },
  {
    what: 'a list or an object',
    schema: { oneOf: [{ type: 'array', items: text }, { type: 'object' }] },
    output: { name: 'value', type: 'any' },
  },
  { what: 'text or an object', schema: { oneOf: [text, { type: 'object' }] }, output: { name: 'value', type: 'any' } },
])('a response that is $what has one output, which is required only if an answer cannot lack it', ({ schema, output }) => {
  const [intent] = planOperation({ responses: { 200: json(schema) } }).intents;
  expect(intent?.output_parameters).toEqual([expect.objectContaining(output)]);
  expect(intent?.output_parameters[0]?.required).toBe('required' in output ? true : undefined);
});

describe('header fields of answers', () => {
  const apiKey = { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Door' } } };
  const note = (names: string) => [{ path: '/paths/~1things/post', note: `agents do not get these header fields of the answer: ${names}` }];
  const named = Array.from({ length: 52 }, (_, at) => `X-${at}`);

  test.each<{ which: string; fieldsByStatus: Record<string, string[]>; names?: string[]; notes?: object[] }>([
    {
      which: 'of every success response',
      fieldsByStatus: { 200: ['X-Total-Count'], 201: ['Location', 'ETag'] },
      names: ['X-Total-Count', 'Location', 'ETag'],
    },
    { which: 'of a range', fieldsByStatus: { '2XX': ['Link'] }, names: ['Link'] },
    {
      which: 'of the default response if there is no other',
      fieldsByStatus: { default: ['X-Next-Page-Token'] },
      names: ['X-Next-Page-Token'],
    },
    { which: 'not of refusals', fieldsByStatus: { 200: [], 404: ['X-Reason'], default: ['X-Any'] } },
    { which: 'once, whatever their case', fieldsByStatus: { 200: ['etag'], 201: ['ETag'] }, names: ['ETag'] },
    {
      which: 'without Content-Type, which OpenAPI ignores',
      fieldsByStatus: { 200: ['Content-Type', 'Content-Disposition'] },
      names: ['Content-Disposition'],
    },
    {
      which: 'without credentials',
      fieldsByStatus: { 200: ['Set-Cookie', 'X-Auth-Token', 'x-door', 'X-Left', 'X-Amz-Security-Token', 'Session-Id'] },
      names: ['X-Left'],
      notes: note('Set-Cookie, X-Auth-Token, x-door, X-Amz-Security-Token, Session-Id'),
    },
    {
      which: 'without those of the connection',
      fieldsByStatus: { 200: ['Transfer-Encoding', 'Keep-Alive'] },
      notes: note('Transfer-Encoding, Keep-Alive'),
    },
    { which: 'without one that the gate adds', fieldsByStatus: { 200: ['Status', 'X-A'] }, names: ['X-A'], notes: note('Status') },
    { which: 'without what is no name', fieldsByStatus: { 200: ['X A', 'größe', 'X-A'] }, names: ['X-A'], notes: note('X A, größe') },
    { which: 'at most fifty', fieldsByStatus: { 200: named }, names: named.slice(0, 50), notes: note('X-50, X-51') },
  ])('header fields of the answer are recorded: $which', ({ fieldsByStatus: given, names, notes = [] }) => {
    const responses = Object.fromEntries(
      Object.entries(given).map(([status, fields]) => [
        status,
        { description: 'Done', headers: Object.fromEntries(fields.map((name) => [name, { schema: text }])) },
      ]),
    );
    const planned = planOperation({ responses }, {}, apiKey);
    expect(planned.intents[0]?.endpoint.response_headers).toEqual(names);
    expect(planned.notes).toEqual(notes);
  });

  test('header fields of the answer are read in Swagger 2.0, and from a response that is a reference', () => {
    const responses = { 201: { $ref: '#/responses/Made' } };
    const { intents } = plan({
      swagger: '2.0',
      info: { title: 'Things', version: '1' },
      host: 'things.example',
      paths: { '/things': { post: { operationId: 'make', responses } } },
      responses: { Made: { description: 'Made', headers: { Location: { type: 'string' } } } },
    });
    expect(intents.map(({ endpoint }) => endpoint.response_headers)).toEqual([['Location']]);
  });
});
