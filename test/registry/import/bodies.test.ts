import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openValidators } from '../../../functions/core/parameters/validators.ts';
import { buildRequest } from '../../../functions/core/relay/build-request.ts';
import type { Relay } from '../../../functions/core/relay/call.ts';
import { expectedInputs, nullRules } from '../../../functions/core/relay/endpoint.ts';
import { ApiError } from '../../../functions/core/runtime/api-error.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { callOf, callUpstream, openLocalRelay } from '../../support/call-upstream.ts';
import { startUpstream } from '../../support/upstream.ts';

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let relay: Relay;

beforeAll(async () => {
  upstream = await startUpstream((_, response) => response.writeHead(204).end());
  relay = openLocalRelay();
});

afterAll(async () => {
  relay.close();
  await upstream.stop();
});

/** Imports a document with one operation. */
function planOne(operation: object, openapi = '3.0.3', components: object = {}) {
  const post = { operationId: 'send', responses: { 204: { description: 'Done' } }, ...operation };
  const servers = [{ url: `http://127.0.0.1:${upstream.port}` }];
  const document = { openapi, info: { title: 'Case', version: '1' }, servers, components, paths: { '/things': { post } } };
  const rules = { ports: [443], allowLoopback: true, ownHosts: [] };
  const { intents, notes, skipped } = planImport(structuredClone(document), {
    rules,
    registryUrl: 'https://gate.example',
    namespace: 'case.example',
  });
  const [intent] = intents;
  if (intent === undefined) throw new Error(JSON.stringify(skipped));
  return { intent, notes: notes.map(({ note }) => note) };
}

/** Executes an intent with the components of a deployment. */
async function execute(intent: IntentInput, parameters: Record<string, unknown>) {
  const values = openValidators(nullRules, expectedInputs)({ ...intent, rev: 1 }, parameters);
  const request = buildRequest({ ...intent, service_id: 'case' } as Parameters<typeof buildRequest>[0], values);
  const service = { service_id: 'case', service_url: 'https://case.example' };
  await callUpstream(relay, callOf(request.url, { request, service, intentUid: intent.intent_uid }));
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error('nothing was called');
  return { type: seen.headers['content-type'], body: seen.body, headers: seen.headers };
}

const inputsOf = ({ input_parameters }: IntentInput) =>
  input_parameters.map(({ name, type, required }) => `${name}: ${type}${required ? ', required' : ''}`);

const text = { type: 'string' };
const file = { type: 'string', format: 'binary' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const content = (content: object, required = true) => ({ requestBody: { required, content } });
const json = (schema: unknown, required = true) => content({ 'application/json': { schema } }, required);
const bytes = (body: string) => Buffer.from(body).toString('base64');
const jsonType = 'application/json';
const form = 'application/x-www-form-urlencoded';

test.each<[string, object]>([
  ['an empty schema', json({})],
  ['the schema true', json(true)],
  ['no schema', content({ 'application/json': {} })],
  ['a schema that only has a description', json({ description: 'An event' })],
  ['a reference to nothing', json({ $ref: '#/components/schemas/Gone' })],
  ['a range of types without a schema', content({ '*/*': {} })],
])('a body of any JSON value is one input: %s', async (_, operation) => {
  const { intent } = planOne(operation);
  expect(inputsOf(intent)).toEqual(['body: any, required']);
  for (const body of [[1, { a: 2 }], 'text', 3, true, null, { a: null }])
    expect(await execute(intent, { body })).toMatchObject({ type: jsonType, body: JSON.stringify(body) });
});

describe('members that are not described', () => {
  const kind = { kind: text };
  test.each<[string, object, sent: object]>([
    ['additionalProperties: true', object(kind, { additionalProperties: true }), { kind: 'a', 'x.y': [1] }],
    ['additionalProperties: {}', object(kind, { additionalProperties: {} }), { kind: 'a', other: null }],
    ['additionalProperties with a schema', object(kind, { additionalProperties: text }), { kind: 'a', team: 'b' }],
    ['patternProperties', object(kind, { patternProperties: { '^x-': {} } }), { kind: 'a', 'x-team': 1 }],
    ['unevaluatedProperties', object(kind, { unevaluatedProperties: true }), { kind: 'a', team: 1 }],
    ['a part of allOf', { allOf: [object(kind), { additionalProperties: true }] }, { kind: 'a', team: 1 }],
    ['one of several alternatives', { oneOf: [object(kind), object({}, { additionalProperties: true })] }, { team: 1 }],
    ['a required member', object(kind, { required: ['kind', 'team'] }), { kind: 'a', team: 1 }],
    ['required members only', { required: ['team'] }, { team: 1 }],
    ['an object with no described members', object({}), { team: 1 }],
    ['a map with no described members', object({}, { additionalProperties: text }), { team: 'b' }],
  ])('members that a document does not describe can be sent: %s', async (_, schema, sent) => {
    const { intent, notes } = planOne(json(schema));
    expect([inputsOf(intent), notes.filter((note) => /members? .*left out/.test(note))]).toEqual([['body: object, required'], []]);
    expect(await execute(intent, { body: sent })).toMatchObject({ type: jsonType, body: JSON.stringify(sent) });
  });

  test.each<[string, object, inputs: string[]]>([
    ['additionalProperties: false', object(kind, { additionalProperties: false }), ['kind: string']],
    ['additionalProperties: { not: {} }', object(kind, { additionalProperties: { not: {} } }), ['kind: string']],
    ['nothing said', object(kind), ['kind: string']],
    ['a required member that is read-only', object({ ...kind, id: { ...text, readOnly: true } }, { required: ['id'] }), ['kind: string']],
    ['no members allowed', object({}, { additionalProperties: false }), []],
  ])('members stay inputs if a document allows no others: %s', (_, schema, inputs) => {
    expect(inputsOf(planOne(json(schema)).intent)).toEqual(inputs);
  });

  test('a required member that is not described is named in the schema of the body, at any depth', () => {
    const { intent } = planOne(json(object({ inner: object({ a: text }, { required: ['b'] }) }, { required: ['team'] })));
    expect(intent.input_parameters[0]?.schema).toEqual({
      type: 'object',
      required: ['team'],
      properties: { inner: { type: 'object', required: ['b'], properties: { a: text } } },
    });
  });

  test.each<[string, object, object, string]>([
    [
      'a URL-encoded form',
      { [form]: { schema: object(kind, { additionalProperties: true }) } },
      { kind: 'a', names: ['b', 'c'], x: { y: 1 } },
      'kind=a&names=b&names=c&x%5By%5D=1',
    ],
    ['a URL-encoded form with a required member', { [form]: { schema: object(kind, { required: ['x'] }) } }, { x: 1 }, 'x=1'],
  ])('members that a document does not describe can be sent in %s', async (_, body, sent, expected) => {
    expect(await execute(planOne(content(body)).intent, { body: sent })).toMatchObject({ type: form, body: expected });
  });

  test('members that a document does not describe can be sent in a multipart form, whose objects are JSON', async () => {
    const { intent } = planOne(content({ 'multipart/form-data': { schema: object(kind, { additionalProperties: true }) } }));
    const { body } = await execute(intent, { body: { kind: 'a', x: { y: 1 } } });
    expect([...body.matchAll(/name="(\w+)"(.*)\r\n\r\n(.*)\r\n/g)].map(([, ...part]) => part)).toEqual([['kind', '', 'a']]);
    expect(body).toContain('name="x"\r\nContent-Type: application/json\r\n\r\n{"y":1}\r\n');
  });

  test('members that a document does not describe cannot be sent beside files, which is noted', () => {
    const schema = object({ photo: file }, { additionalProperties: text, required: ['photo', 'team'] });
    const { intent, notes } = planOne(content({ 'multipart/form-data': { schema } }));
    expect(inputsOf(intent)).toEqual(['photo: string, required', 'photo_filename: string', 'team: any, required']);
    expect(notes).toContain(
      'additional members of the form were left out, because its described members are serialised each in its own way',
    );
  });
});

describe('the type of a body', () => {
  test.each<{ what: string; types: object; inputs: string[]; parameters: object; type: string; body: string }>([
    {
      what: 'image/*',
      types: { 'image/*': { schema: file } },
      inputs: ['body: string, required', 'content_type: string, required'],
      parameters: { body: bytes('a'), content_type: 'image/webp' },
      type: 'image/webp',
      body: 'a',
    },
    {
      what: 'audio/* and a type',
      types: { 'audio/*': {}, 'video/mp4': {} },
      inputs: ['body: string, required', 'content_type: string, required'],
      parameters: { body: bytes('a'), content_type: 'video/mp4' },
      type: 'video/mp4',
      body: 'a',
    },
    {
      what: 'two types of files',
      types: { 'image/gif': { schema: file }, 'image/jpeg': { schema: file } },
      inputs: ['body: string, required', 'content_type: string, required'],
      parameters: { body: bytes('a'), content_type: 'image/jpeg' },
      type: 'image/jpeg',
      body: 'a',
    },
    {
      what: 'any file',
      types: { '*/*': { schema: file } },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: bytes('a') },
      type: 'application/octet-stream',
      body: 'a',
    },
    {
      what: 'any file, of a chosen type',
      types: { '*/*': { schema: file } },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: bytes('a'), content_type: 'application/pdf' },
      type: 'application/pdf',
      body: 'a',
    },
    {
      what: 'a file with or without a type',
      types: { 'application/pdf': {}, 'application/octet-stream': {} },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: bytes('a') },
      type: 'application/octet-stream',
      body: 'a',
    },
    {
      what: 'text/*',
      types: { 'text/*': { schema: text } },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: 'a' },
      type: 'text/plain',
      body: 'a',
    },
    {
      what: 'text/* of a chosen type',
      types: { 'text/*': {} },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: '# a', content_type: 'text/markdown' },
      type: 'text/markdown',
      body: '# a',
    },
    {
      what: 'any text',
      types: { '*/*': { schema: text } },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: 'a' },
      type: 'text/plain',
      body: 'a',
    },
    {
      what: 'two types of text',
      types: { 'text/csv': { schema: text }, 'text/plain': { schema: text } },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: 'a' },
      type: 'text/csv',
      body: 'a',
    },
    {
      what: 'two types of XML',
      types: { 'application/xml': {}, 'application/*+xml': {} },
      inputs: ['body: string, required', 'content_type: string'],
      parameters: { body: '<a/>', content_type: 'application/atom+xml' },
      type: 'application/atom+xml',
      body: '<a/>',
    },
    {
      what: 'one type',
      types: { 'image/png': { schema: file } },
      inputs: ['body: string, required'],
      parameters: { body: bytes('a') },
      type: 'image/png',
      body: 'a',
    },
    {
      what: 'JSON of any name',
      types: { 'application/*+json': { schema: object({ name: text }) } },
      inputs: ['name: string'],
      parameters: { name: 'a' },
      type: jsonType,
      body: '{"name":"a"}',
    },
    {
      what: 'text/json',
      types: { 'text/json': { schema: object({ name: text }) } },
      inputs: ['name: string'],
      parameters: { name: 'a' },
      type: 'text/json',
      body: '{"name":"a"}',
    },
    {
      what: 'any type with an object',
      types: { '*/*': { schema: object({ name: text }) } },
      inputs: ['name: string'],
      parameters: { name: 'a' },
      type: jsonType,
      body: '{"name":"a"}',
    },
  ])('the caller chooses the type of a body that may have several: $what', async ({ types, inputs, parameters, type, body }) => {
    const { intent } = planOne(content(types));
    expect(inputsOf(intent)).toEqual(inputs);
    expect(await execute(intent, { ...parameters })).toMatchObject({ type, body });
  });

  const typeProblem = 'must match the pattern ^(image/[A-Za-z0-9.+-]+)$';
  test.each<[string, object, string, string]>([
    ['outside the range', { 'image/*': {} }, 'text/html', typeProblem],
    ['with a parameter', { 'image/*': {} }, 'image/png; charset=utf-7', typeProblem],
    ['with a line break', { 'image/*': {} }, 'image/png\r\nX-Evil: 1', typeProblem],
    ['that is not listed', { 'image/gif': {}, 'image/jpeg': {} }, 'image/png', 'must be one of "image/gif", "image/jpeg"'],
    ['of a multipart form', { '*/*': { schema: file } }, 'multipart/form-data', 'must not be the type of a form'],
    ['of a URL-encoded form', { 'application/*': { schema: file } }, 'application/x-www-form-urlencoded', 'must not be the type of a form'],
  ])('the caller cannot choose a type %s', async (_, types, content_type, problem) => {
    const { intent } = planOne(content(types));
    const issues = [{ path: '/parameters/content_type', problem: expect.stringContaining(problem) }];
    await expect(execute(intent, { body: bytes('a'), content_type })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { issues },
    });
  });

  test('the input for the type of a body gives way to a parameter that has its name', async () => {
    const parameters = [
      { name: 'content_type', in: 'query', schema: text },
      { name: 'body', in: 'query', schema: text },
    ];
    const { intent } = planOne({ ...content({ 'image/*': {} }), parameters });
    expect(inputsOf(intent)).toEqual([
      'request_body: string, required',
      'body_content_type: string, required',
      'content_type: string',
      'body: string',
    ]);
    expect(await execute(intent, { request_body: bytes('a'), body_content_type: 'image/png', content_type: 'q' })).toMatchObject({
      type: 'image/png',
      body: 'a',
    });
  });

  test('a type without its body is refused', async () => {
    const { intent } = planOne(content({ 'text/*': {} }, false));
    await expect(execute(intent, { content_type: 'text/csv' })).rejects.toThrow(ApiError);
    expect(await execute(intent, {})).toMatchObject({ type: undefined, body: '' });
  });
});

describe('JSON beside a multipart form', () => {
  const upload = (photo: object) => ({ 'multipart/form-data': { schema: object({ name: text, photo }) } });
  test.each<[string, object, type: string]>([
    ['is used if the form has no file', { ...upload(text), 'application/json': { schema: object({ name: text }) } }, jsonType],
    [
      'is used if it carries the file as text',
      { ...upload(file), 'application/json': { schema: object({ name: text, photo: text }) } },
      jsonType,
    ],
    [
      'is not used if it has no place for the file',
      { 'application/json': { schema: object({ name: text }) }, ...upload(file) },
      'multipart/form-data',
    ],
    [
      'is not used if its file is binary',
      { 'application/json': { schema: object({ name: text, photo: file }) }, ...upload(file) },
      'multipart/form-data',
    ],
    [
      'is not used if a list of files is lost',
      { 'application/json': { schema: object({}) }, ...upload({ type: 'array', items: file }) },
      'multipart/form-data',
    ],
    [
      'loses to it like a URL-encoded form',
      { [form]: { schema: object({ name: text, photo: file }) }, ...upload(file) },
      'multipart/form-data',
    ],
  ])('JSON beside a multipart form %s', (_, types, type) => {
    expect(planOne(content(types)).intent.endpoint.content_type).toBe(type);
  });

  test('a file that may be sent instead of JSON is noted', () => {
    const { notes } = planOne(content({ 'application/json': { schema: object({ url: text }) }, 'image/png': { schema: file } }));
    expect(notes).toEqual(['the body cannot be sent as image/png']);
  });
});

describe('names of files', () => {
  const upload = (properties: object, encoding: object = {}) =>
    planOne(content({ 'multipart/form-data': { schema: object(properties), encoding } })).intent;
  const heads = (body: string) =>
    [...body.matchAll(/form-data; (.*)\r\n(?:Content-Type: (.*)\r\n)?/g)].map(([, ...head]) => head.join(' '));

  test.each<{ what: string; properties: object; encoding?: object; parameters: object; expected: string[] }>([
    {
      what: 'given by the caller',
      properties: { doc: file },
      parameters: { doc: '', doc_filename: 'My report (1).pdf' },
      expected: ['name="doc"; filename="My report (1).pdf" application/octet-stream'],
    },
    {
      what: 'in any script',
      properties: { doc: file },
      parameters: { doc: '', doc_filename: 'Zoë 報告.pdf' },
      expected: ['name="doc"; filename="Zoë 報告.pdf" application/octet-stream'],
    },
    {
      what: 'with quotes',
      properties: { doc: file },
      parameters: { doc: '', doc_filename: 'a"; name="b.txt' },
      expected: ['name="doc"; filename="a%22; name=%22b.txt" application/octet-stream'],
    },
    {
      what: 'by default with an ending',
      properties: { doc: file },
      parameters: { doc: '' },
      expected: ['name="doc"; filename="doc.bin" application/octet-stream'],
    },
    {
      what: 'with the ending of its type',
      properties: { doc: file },
      encoding: { doc: { contentType: 'audio/mpeg' } },
      parameters: { doc: '' },
      expected: ['name="doc"; filename="doc.mp3" audio/mpeg'],
    },
    {
      what: 'with the ending of the chosen type',
      properties: { doc: file },
      encoding: { doc: { contentType: 'image/*' } },
      parameters: { doc: '', doc_content_type: 'image/svg+xml' },
      expected: ['name="doc"; filename="doc.svg" image/svg+xml'],
    },
    {
      what: 'for each file of a list',
      properties: { 'docs[]': { type: 'array', items: file } },
      parameters: { 'docs[]': ['', ''], 'docs[]_filename': ['a.txt'] },
      expected: [
        'name="docs[]"; filename="a.txt" application/octet-stream',
        'name="docs[]"; filename="docs-2.bin" application/octet-stream',
      ],
    },
    {
      what: 'and a type for each',
      properties: { docs: { type: 'array', items: file } },
      encoding: { docs: { contentType: 'image/png, image/jpeg' } },
      parameters: { docs: ['', ''], docs_content_type: ['image/png', 'image/jpeg'] },
      expected: ['name="docs"; filename="docs-1.png" image/png', 'name="docs"; filename="docs-2.jpg" image/jpeg'],
    },
    {
      what: 'beside a member with the name of the input',
      properties: { doc: file, doc_filename: text },
      parameters: { doc: '', doc_filename: 'b', body_doc_filename: 'a.txt' },
      expected: ['name="doc"; filename="a.txt" application/octet-stream', 'name="doc_filename" '],
    },
    {
      what: 'but not a text of a chosen type',
      properties: { note: text },
      encoding: { note: { contentType: 'text/html, text/markdown' } },
      parameters: { note: '', note_content_type: 'text/html' },
      expected: ['name="note" text/html'],
    },
  ])('a file in a multipart form has a name $what', async ({ properties, encoding = {}, parameters, expected }) => {
    const { body } = await execute(upload(properties, encoding), { ...parameters });
    expect(heads(body)).toEqual(expected);
  });

  test.each<[string, string, string]>([
    ['a path', '../etc/passwd', 'must be the name of a file, without a path'],
    ['a path of Windows', 'C:\\a.txt', 'must be the name of a file, without a path'],
    ['only dots', '..', 'must be the name of a file, without a path'],
    ['nothing', '', 'must be the name of a file, without a path'],
    ['a line break', 'a\r\nb', 'must not contain the invisible or control character U+000D (character 2)'],
    ['a bidirectional mark', 'gpj\u202eexe.a', 'must not contain the invisible or control character U+202E (character 4)'],
    ['half a character', 'a\ud800', 'must be valid Unicode'],
    ['too many characters', 'a'.repeat(256), 'must be a text of at most 255 characters'],
  ])('the name of a file must not be %s', async (_, name, problem) => {
    const issues = [{ path: '/parameters/doc_filename', problem }];
    await expect(execute(upload({ doc: file }), { doc: '', doc_filename: name })).rejects.toMatchObject({ details: { issues } });
  });

  test('a multipart form has no more names than files', async () => {
    const parameters = { docs: [''], docs_filename: ['a', 'b'] };
    const issues = [{ path: '/parameters/docs_filename', problem: 'must be left out, or come with as many values of docs' }];
    await expect(execute(upload({ docs: { type: 'array', items: file } }), parameters)).rejects.toMatchObject({ details: { issues } });
  });
});

describe('objects in forms', () => {
  const values = { at: { lat: 1 }, all: [{ n: 1 }, { n: 2 }], names: ['x', 'y'] };
  const properties = { at: object({ lat: {} }), all: { type: 'array', items: object({ n: {} }) }, names: { type: 'array', items: text } };
  test.each<[string, encoding: object, string]>([
    ['3.0.3', {}, 'at[lat]=1&all[0][n]=1&all[1][n]=2&names=x&names=y'],
    ['3.1.0', {}, 'at={"lat":1}&all={"n":1}&all={"n":2}&names=x&names=y'],
    ['3.2.0', {}, 'at={"lat":1}&all={"n":1}&all={"n":2}&names=x&names=y'],
    ['3.1.1', { at: { style: 'deepObject', explode: true } }, 'at[lat]=1&all={"n":1}&all={"n":2}&names=x&names=y'],
    ['3.0.4', { at: { contentType: jsonType } }, 'at={"lat":1}&all[0][n]=1&all[1][n]=2&names=x&names=y'],
  ])('objects in forms are written by the version of OpenAPI: %s with %j', async (version, encoding, expected) => {
    const { intent } = planOne(content({ [form]: { schema: object(properties), encoding } }), version);
    expect(decodeURIComponent((await execute(intent, values)).body)).toBe(expected);
  });

  test.each<[string, schema: object, encoding: object, inputs: string[]]>([
    ['3.1.0', {}, {}, ['a: string', 'a_filename: string']],
    ['3.1.0', { description: 'A file' }, { contentType: '*/*' }, ['a: string', 'a_filename: string', 'a_content_type: string']],
    ['3.1.0', { type: 'array', items: {} }, {}, ['a: array', 'a_filename: array']],
    ['3.1.0', {}, { contentType: jsonType }, ['a: any']],
    ['3.1.0', { type: 'object' }, {}, ['a: object']],
    ['3.0.3', {}, {}, ['a: any']],
  ])('a part in OpenAPI %s with the schema %j and the encoding %j has its inputs', (version, schema, encoding, inputs) => {
    const multipart = { schema: object({ a: schema }), encoding: { a: encoding } };
    expect(inputsOf(planOne(content({ 'multipart/form-data': multipart }), version).intent)).toEqual(inputs);
  });
});

describe('an optional body', () => {
  const schema = object({ name: text, size: { type: 'integer' } }, { required: ['name'] });
  test.each<[string, object]>([
    ['JSON', json(schema, false)],
    ['a form', content({ [form]: { schema } }, false)],
    ['a multipart form', content({ 'multipart/form-data': { schema } }, false)],
    ['without required members', json(object({ name: text }), false)],
    ['a body that is one input', json({}, false)],
  ])('an optional body is left out: %s', async (_, operation) => {
    const { type, body, headers } = await execute(planOne(operation).intent, {});
    expect([type, body, headers['content-length']]).toEqual([undefined, '', '0']);
  });

  test.each<[string, object, object]>([
    [
      'its required members are required beside others',
      { size: 1 },
      { issues: [{ path: '/parameters/name', problem: 'is required and must be a string' }] },
    ],
    ['null counts as left out', { size: null, name: null }, {}],
    ['a whole one is sent', { name: 'a' }, { body: '{"name":"a"}' }],
  ])(
    'an optional body is sent or refused by its members: %s',
    async (_, parameters, { issues, body = '' }: { issues?: object[]; body?: string }) => {
      const run = execute(planOne(json(schema, false)).intent, { ...parameters });
      if (issues) await expect(run).rejects.toMatchObject({ details: { issues } });
      else expect(await run).toMatchObject({ body });
    },
  );

  test('a required body without values is an empty object', async () => {
    expect(await execute(planOne(json(object({ name: text }))).intent, {})).toMatchObject({ type: jsonType, body: '{}' });
  });
});

describe('Accept', () => {
  const usual = 'application/json, */*;q=0.1';
  const answers = (...types: string[]) => ({ responses: { 200: { content: Object.fromEntries(types.map((type) => [type, {}])) } } });
  test.each<[string, object, string]>([
    ['no response', {}, usual],
    ['JSON', answers(jsonType), usual],
    ['JSON with a charset, and anything', answers('application/json; charset=utf-8', '*/*'), usual],
    ['a version of JSON', answers('application/vnd.things.v2+json'), 'application/vnd.things.v2+json, */*;q=0.1'],
    ['a parameter', answers('application/json; version=2'), 'application/json; version=2, */*;q=0.1'],
    ['types in their order', answers('application/x-ndjson', 'text/csv'), 'application/x-ndjson, text/csv, */*;q=0.1'],
    [
      'JSON beside others, which the outputs describe',
      answers('application/xml', jsonType),
      'application/xml;q=0.5, application/json, */*;q=0.1',
    ],
    ['only valid types', answers('text/csv', 'a b/c', 'json', 'a/b\r\nX-Evil: 1'), 'text/csv, */*;q=0.1'],
    [
      'types of success only',
      { responses: { 200: { content: { 'text/csv': {} } }, 400: { content: { 'text/html': {} } } } },
      'text/csv, */*;q=0.1',
    ],
    [
      'at most 500 characters',
      answers(...Array.from({ length: 50 }, (_, at) => `text/x-type-${at + 10}`)),
      `${Array.from({ length: 30 }, (_, at) => `text/x-type-${at + 10}`).join(', ')}, */*;q=0.1`,
    ],
  ])('Accept has the media types of the responses: %s', async (_, operation, accept) => {
    expect((await execute(planOne(operation).intent, {})).headers.accept).toBe(accept);
  });
});

describe('a documented Idempotency-Key', () => {
  const key = (schema: object, more: object = {}, name = 'Idempotency-Key') => ({ parameters: [{ name, in: 'header', schema, ...more }] });
  test.each<[string, object, IntentInput['endpoint']['idempotency_key']]>([
    ['that is optional', key(text), undefined],
    ['that is required', key(text, { required: true }), { required: true }],
    ['in another case', key(text, { required: true }, 'idempotency-key'), { required: true }],
    ['that is a UUID', key({ ...text, format: 'uuid' }), { format: 'uuid' }],
    ['that is a required UUID', key({ ...text, format: 'uuid' }, { required: true }), { required: true, format: 'uuid' }],
    ['with the pattern of UUIDs', key({ ...text, pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }), { format: 'uuid' }],
    ['too short for a digest', key({ ...text, maxLength: 36 }), { format: 'uuid' }],
    ['long enough for a digest', key({ ...text, maxLength: 128 }), undefined],
  ])('a documented Idempotency-Key is recorded with what it takes: %s', (_, operation, expected) => {
    const { intent, notes } = planOne(operation);
    expect([intent.endpoint.idempotency_key, intent.input_parameters, notes]).toEqual([expected, [], []]);
  });

  test('a documented Idempotency-Key that takes neither a digest nor a UUID is noted', () => {
    const { intent, notes } = planOne(key({ ...text, maxLength: 10 }));
    expect(intent.endpoint).not.toHaveProperty('idempotency_key');
    expect(notes).toEqual(['the service may refuse the Idempotency-Key, which is a digest of the key that the agent sends']);
  });
});

describe('what a document says of a body is kept', () => {
  const pet = object({ kind: text, name: text }, { required: ['kind'], discriminator: { propertyName: 'kind' } });
  test.each<[string, object, inputs: string[], sent: Record<string, unknown>, expected: unknown]>([
    [
      'members of schemas that extend the described one',
      json(pet),
      ['body: object, required'],
      { body: { kind: 'Cat', lives: 9 } },
      { kind: 'Cat', lives: 9 },
    ],
    [
      'a schema that extends another one',
      json({ allOf: [pet, object({ lives: { type: 'integer' } })] }),
      ['kind: string, required', 'name: string', 'lives: integer'],
      { kind: 'Cat', lives: 9 },
      { kind: 'Cat', lives: 9 },
    ],
    [
      'the member that tells alternatives apart',
      json({
        oneOf: [object({ lives: { type: 'integer' } }), object({ barks: { type: 'boolean' } })],
        discriminator: { propertyName: 'kind' },
      }),
      ['kind: string', 'lives: integer', 'barks: boolean'],
      { kind: 'Cat', lives: 9 },
      { kind: 'Cat', lives: 9 },
    ],
    [
      'members of one alternative, when another one only requires some',
      json(object({ amount: { type: 'integer' }, customer: text }, { oneOf: [{ required: ['customer'] }, object({ email: text })] })),
      ['amount: integer', 'customer: string', 'email: any'],
      { amount: 1, email: 'a@b.example' },
      { amount: 1, email: 'a@b.example' },
    ],
    ['a member that no value is valid for', json(object({ name: text, gone: false })), ['name: string'], { name: 'a' }, { name: 'a' }],
  ])('%s', async (_, operation, inputs, sent, expected) => {
    const { intent } = planOne(operation, '3.1.0');
    expect(inputsOf(intent).toSorted()).toEqual(inputs.toSorted());
    expect(JSON.parse((await execute(intent, sent)).body)).toEqual(expected);
  });

  test.each<[string, object, inputs: string[]]>([
    ['of which one cannot be read', { oneOf: [object({ lives: text }), { $ref: '#/components/schemas/Gone' }] }, ['body: any, required']],
    [
      'that are lists',
      {
        oneOf: [
          { type: 'array', items: text },
          { type: 'array', items: file },
        ],
      },
      ['body: array, required'],
    ],
    ['that are values', { oneOf: [text, { type: 'integer' }] }, ['body: any, required']],
  ])('a discriminator adds no member to alternatives %s', (_, schema, inputs) => {
    expect(inputsOf(planOne(json({ ...schema, discriminator: { propertyName: 'kind' } })).intent)).toEqual(inputs);
  });

  test('the member that tells alternatives apart keeps what the schema itself says of it', () => {
    const kind = { ...text, enum: ['Cat', 'Dog'] };
    const schema = object({ kind }, { oneOf: [object({ lives: text }), object({ barks: text })], discriminator: { propertyName: 'kind' } });
    expect(planOne(json(schema)).intent.input_parameters).toContainEqual({ name: 'kind', ...kind });
  });

  test.each<[described: string, type: string]>([
    ['text/plain; charset=utf-8', 'text/plain; charset=utf-8'],
    ['text/plain;charset=ISO-8859-1', 'text/plain; charset=utf-8'],
    ['text/csv; charset=UTF-8; header=present', 'text/csv; charset=utf-8'],
    ['application/xml; charset=utf-8', 'application/xml; charset=utf-8'],
    ['text/plain', 'text/plain'],
    ['application/json; charset=utf-8', jsonType],
  ])('text of type %s is sent in UTF-8, and says so if the document names a charset', async (described, type) => {
    const { intent } = planOne(content({ [described]: { schema: text } }));
    expect(await execute(intent, { body: 'Zoë' })).toMatchObject({ type, body: type === jsonType ? '"Zoë"' : 'Zoë' });
  });

  test('content that the document encodes in base64 is sent in base64', async () => {
    const image = { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' };
    const whole = planOne(content({ 'image/png': { schema: image } }), '3.1.0');
    expect(await execute(whole.intent, { body: 'iVBORw0KGgo=' })).toMatchObject({ type: 'image/png', body: 'iVBORw0KGgo=' });
    const encoding = { icon: { contentType: 'image/png' } };
    const part = planOne(content({ 'multipart/form-data': { schema: object({ icon: image }), encoding } }), '3.1.0');
    expect((await execute(part.intent, { icon: 'iVBORw0KGgo=' })).body).toContain('Content-Type: image/png\r\n\r\niVBORw0KGgo=\r\n');
    const untyped = content({ 'multipart/form-data': { schema: object({ icon: image, icons: { type: 'array', items: image } }) } });
    const { body } = await execute(planOne(untyped, '3.1.0').intent, { icon: 'iVBO', icons: ['Rw0K'] });
    expect(body).toContain('name="icon"\r\nContent-Type: application/octet-stream\r\n\r\niVBO\r\n');
    expect(body).toContain('name="icons"\r\nContent-Type: application/octet-stream\r\n\r\nRw0K\r\n');
  });

  test('a part of a form has the type that the document gives it, and header fields of parts are noted', async () => {
    const parts = object({ metadata: text, filter: {}, note: text });
    const encoding = { metadata: { contentType: jsonType, headers: { 'X-Part': { schema: text } } }, filter: { contentType: jsonType } };
    const { intent, notes } = planOne(content({ 'multipart/form-data': { schema: parts, encoding } }));
    const { body } = await execute(intent, { metadata: '{"a":1}', filter: [1, 2], note: 'n' });
    expect(body).toContain('name="metadata"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n');
    expect(body).toContain('name="filter"\r\nContent-Type: application/json\r\n\r\n[1,2]\r\n');
    expect(body).toContain('name="note"\r\n\r\nn\r\n');
    expect(notes).toContain('the header fields of the part metadata are not sent');
    const choice = { schema: object({ u: {} }), encoding: { u: { contentType: 'application/json, text/plain' } } };
    expect(inputsOf(planOne(content({ 'multipart/form-data': choice })).intent)).toEqual(['u: any', 'u_content_type: string']);
  });
});

test.each<[string, object, sent: unknown, expected: string]>([
  [
    'of any type in brackets',
    { schema: {}, style: 'deepObject', explode: true },
    { status: 'x', limit: 3 },
    '?f%5Bstatus%5D=x&f%5Blimit%5D=3',
  ],
  ['of any type, joined', { schema: {}, explode: false }, ['a', 'b'], '?f=a,b'],
  ['of any type', { schema: {} }, 'a', '?f=a'],
  ['of any type, in a style of paths', { schema: {}, style: 'matrix' }, 'a', '?f=a'],
  ['as a number in text', { content: { 'text/plain': { schema: { type: 'integer', minimum: 1 } } } }, 2, '?f=2'],
  ['as XML', { content: { 'application/xml': { schema: object({ a: text }) } } }, '<a>1</a>', '?f=%3Ca%3E1%3C%2Fa%3E'],
])('a query parameter %s is written as the document says', async (_, parameter, sent, expected) => {
  const { intent } = planOne({ parameters: [{ name: 'f', in: 'query', ...parameter }] });
  const values = openValidators(nullRules, expectedInputs)({ ...intent, rev: 1 }, { f: sent });
  const { url } = buildRequest({ ...intent, service_id: 'case' } as Parameters<typeof buildRequest>[0], values);
  expect(new URL(url).search).toBe(expected);
});

describe('parts that may be files', () => {
  const multipart = 'multipart/form-data';
  const files = { type: 'array', items: file };
  const form = (member: object, more: object = {}) => content({ [multipart]: { schema: object({ f: member, note: text }), ...more } });
  const partsOf = (body: string) =>
    body
      .split(/--[\w-]+(?:--)?\r\n/)
      .filter(Boolean)
      .map((part) => part.replaceAll('\r\n', '|').replace(/^Content-Disposition: form-data; /, ''));

  test.each<[string, object, 'string' | 'array']>([
    ['a file or files', { anyOf: [file, files] }, 'array'],
    ['files or a file', { oneOf: [files, file] }, 'array'],
    ['a file or an address', { oneOf: [file, { type: 'string', format: 'uri' }] }, 'string'],
    ['a file or an object', { anyOf: [file, object({ id: text })] }, 'string'],
    ['a file, an object or nothing', { anyOf: [file, { anyOf: [object({ id: text }), { type: 'null' }] }] }, 'string'],
    ['a list of files or texts', { type: 'array', items: { oneOf: [file, text] } }, 'array'],
  ])('%s are sent as files', async (_, member, type) => {
    for (const version of ['3.0.3', '3.1.0']) {
      const { intent, notes } = planOne(form(member), version);
      expect(intent.input_parameters[0]).toMatchObject({ name: 'f', type, style: 'base64' });
      expect(notes).toEqual(['the parameter f takes files only, not its other alternatives']);
      const given = type === 'array' ? [bytes('hello'), bytes('there')] : bytes('hello');
      const { body } = await execute(intent, { f: given, note: 'n' });
      const sent = type === 'array' ? ['hello', 'there'] : ['hello'];
      expect(partsOf(body)).toEqual([
        ...sent.map(
          (text, at) =>
            `name="f"; filename="f${type === 'array' ? `-${at + 1}` : ''}.bin"|Content-Type: application/octet-stream||${text}|`,
        ),
        'name="note"||n|',
      ]);
    }
  });

  test('a form with files is preferred to JSON if JSON has no other way to carry them', async () => {
    const schema = object({ f: { oneOf: [file, object({ id: text })] } });
    const { intent } = planOne(content({ [jsonType]: { schema }, [multipart]: { schema } }));
    expect((await execute(intent, { f: bytes('hello') })).body).toContain('\r\n\r\nhello\r\n');
  });

  test.each<[string, object, string[]]>([
    [
      'a member that one alternative describes',
      { oneOf: [object({ limit: { type: 'integer' } }, { required: ['limit'] }), object({})] },
      ['60'],
    ],
    ['a required member that is not described', object({}, { required: ['limit'] }), ['60', 'sixty']],
  ])('%s is no file since OpenAPI 3.1', async (_, schema, values) => {
    const { intent } = planOne(content({ [multipart]: { schema } }), '3.1.0');
    for (const value of values) {
      const limit = /^\d+$/.test(value) ? Number(value) : value;
      expect(partsOf((await execute(intent, { body: { limit } })).body)).toEqual([`name="limit"||${value}|`]);
    }
  });

  test('a member of any type is text in a URL-encoded form since OpenAPI 3.1, and bytes in a multipart form', async () => {
    const schema = object({ value: { description: 'any value' } }, { required: ['value'] });
    const encoded = planOne(content({ 'application/x-www-form-urlencoded': { schema } }), '3.1.0').intent;
    for (const value of ['a b', 5]) expect((await execute(encoded, { value })).body).toBe(`value=${String(value).replace(' ', '%20')}`);
    expect(planOne(content({ [multipart]: { schema } }), '3.1.0').intent.input_parameters[0]).toMatchObject({ style: 'base64' });
  });

  test.each([
    ['3.0.3', ['name="l"||x|', 'name="l"||y|', 'name="o"|Content-Type: application/json||{"a":1}|']],
    ['3.1.0', ['name="l"||x,y|', 'name="o[a]"||1|']],
  ])('parts have the styles of their encoding only since OpenAPI 3.1: %s', async (version, parts) => {
    const schema = object({ l: { type: 'array', items: text }, o: object({ a: { type: 'integer' } }) });
    const encoding = { l: { style: 'form', explode: false }, o: { style: 'deepObject' } };
    const { intent } = planOne(content({ [multipart]: { schema, encoding } }), version);
    expect(partsOf((await execute(intent, { l: ['x', 'y'], o: { a: 1 } })).body)).toEqual(parts);
  });

  test.each(['application/yaml', 'application/javascript', 'application/vnd.api+json'])(
    'the content %s is text',
    async (contentMediaType) => {
      const { intent } = planOne(form({ type: 'string', contentMediaType }), '3.1.0');
      expect((await execute(intent, { f: 'a: 1' })).body).toContain('\r\n\r\na: 1\r\n');
    },
  );
});

test.each([
  ['application/sdp', text, 'v=0', 'v=0'],
  ['application/jwt', text, 'abcd', 'abcd'],
  ['application/x-pem-file', text, 'abcd', 'abcd'],
  ['application/vnd.flux', text, 'abcd', 'abcd'],
  ['application/pdf', text, bytes('%PDF'), '%PDF'],
  ['image/png', text, bytes('png'), 'png'],
  ['application/vnd.ms-excel', text, bytes('xls'), 'xls'],
  ['application/x-protobuf', text, bytes('pb'), 'pb'],
  ['application/x-tgz', text, bytes('tgz'), 'tgz'],
  ['application/jwt', file, bytes('abcd'), 'abcd'],
  ['application/jwt', {}, bytes('abcd'), 'abcd'],
])('a body of type %s with the schema %j is text if its type and schema allow that, else bytes', async (type, schema, body, sent) => {
  const { intent } = planOne(content({ [type]: { schema } }));
  expect(await execute(intent, { body })).toMatchObject({ type, body: sent });
});

test.each<[string, object, unknown]>([
  ['3.0.3', { type: 'string', nullable: true }, 'a'],
  ['3.1.0', { type: ['array', 'null'], items: text }, ['a']],
  ['3.1.0', { anyOf: [text, { type: 'null' }] }, 'a'],
  ['3.0.3', { type: 'object', nullable: true, additionalProperties: text }, { a: 'b' }],
])('a body of JSON may be null if its schema allows that: %s, %j', async (version, schema, other) => {
  const { intent } = planOne(json(schema), version);
  for (const body of [null, other]) expect((await execute(intent, { body })).body).toBe(JSON.stringify(body));
});

test('a body of JSON that may not be null is refused if it is', async () => {
  const { intent } = planOne(json(text));
  await expect(execute(intent, { body: null })).rejects.toThrow(ApiError);
});

describe('fields that are called like a credential', () => {
  const token = { name: 'Token', in: 'header', schema: text };
  const named = (required: string[]) => object({ token: text, hint: text }, { required });
  test.each<[string, object, string[]]>([
    ['a required field', content({ [form]: { schema: named(['token']) } }), ['token: string, required', 'hint: string']],
    ['an optional field', content({ [form]: { schema: named([]) } }), ['hint: string']],
    [
      'a required query parameter',
      { parameters: [{ name: 'token', in: 'query', required: true, schema: text }] },
      ['token: string, required'],
    ],
    ['an optional query parameter', { parameters: [{ name: 'token', in: 'query', schema: text }] }, []],
  ])('%s of a name that the header of the credential has', (_, operation, inputs) => {
    const { parameters = [] } = operation as { parameters?: object[] };
    expect(inputsOf(planOne({ ...operation, parameters: [token, ...parameters] }).intent)).toEqual(inputs);
  });
});
