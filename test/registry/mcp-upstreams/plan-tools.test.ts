import { describe, expect, test } from '@jest/globals';
import { planImport } from '../../../registry/import/plan-import.ts';

const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };
const plan = (tools: object[], server: object = {}) =>
  planImport({ mcp_server: { url: 'https://tools.example/mcp', name: 'fake', ...server }, tools }, options);
const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

test('a tool becomes an intent with its words, hints, nested input and output', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      filter: { $ref: '#/$defs/Filter' },
      limit: { type: 'integer', minimum: 1, default: 20, description: 'How many' },
      region: { type: 'string', 'x-mcp-header': 'Region' },
    },
    required: ['filter'],
    $defs: { Filter: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } }, required: ['tags'] } },
  };
  const outputSchema = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] };
  const annotations = { readOnlyHint: true, destructiveHint: false };
  const { service, intents, notes, skipped, version } = plan(
    [{ name: 'findThings_all', title: 'Find things', description: 'Finds things.', inputSchema, outputSchema, annotations }],
    { title: 'Things', version: '3.1.4', instructions: 'Ask for things.' },
  );
  expect(service).toEqual({ service_name: 'Things', service_url: 'https://tools.example/mcp', description: 'Ask for things.' });
  expect([version, notes, skipped]).toEqual(['v3', [], []]);
  expect(intents).toEqual([
    {
      intent_uid: 'tools.example:find-things-all:v3',
      intent_name: 'Find things',
      description: 'Finds things.',
      input_parameters: [
        {
          name: 'filter',
          type: 'object',
          required: true,
          schema: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } }, required: ['tags'] },
        },
        { name: 'limit', type: 'integer', minimum: 1, description: 'How many. Default: 20' },
        { name: 'region', type: 'string' },
      ],
      output_parameters: [{ name: 'total', type: 'integer', required: true }],
      endpoint: {
        url: 'https://tools.example/mcp',
        method: 'POST',
        content_type: 'application/json',
        mcp: { tool: 'findThings_all', headers: { Region: '/region' } },
      },
      tags: ['read-only'],
    },
  ]);
});

describe('names of tools', () => {
  test('names of tools with capitals, slashes, spaces and other scripts become distinct uids and words', () => {
    const { intents } = plan([tool('getUser'), tool('get_user'), tool('Admin/Delete User'), tool('取得'), tool('search')]);
    expect(intents.map(({ intent_uid, intent_name, endpoint }) => [intent_uid, intent_name, endpoint.mcp?.tool])).toEqual([
      [expect.stringMatching(/^tools\.example:get-user-[0-9a-f]{8}:v1$/), 'Get User', 'getUser'],
      [expect.stringMatching(/^tools\.example:get-user-[0-9a-f]{8}:v1$/), 'Get user', 'get_user'],
      ['tools.example:admin-delete-user:v1', 'Admin Delete User', 'Admin/Delete User'],
      [expect.stringMatching(/^tools\.example:tool-[0-9a-f]{8}:v1$/), '取得', '取得'],
      ['tools.example:search:v1', 'Search', 'search'],
    ]);
    expect(new Set(intents.map(({ intent_uid }) => intent_uid)).size).toBe(5);
  });

  test('of two tools of one name, and of a tool without one, the second is skipped', () => {
    const { intents, skipped } = plan([tool('one'), tool('one', { description: 'Another one' }), tool('')]);
    expect(intents.map(({ intent_uid }) => intent_uid)).toEqual(['tools.example:one:v1']);
    expect(skipped.map(({ operation, path }) => [operation, path])).toEqual([
      ['one', '/tools/1'],
      ['', '/tools/2'],
    ]);
  });

  test('2,000 tools become 2,000 intents', () => {
    const { intents } = plan(Array.from({ length: 2_000 }, (_, at) => tool(`tool_${at}`)));
    expect(new Set(intents.map(({ intent_uid }) => intent_uid)).size).toBe(2_000);
  });
});

describe('input schemas', () => {
  const inputs = (inputSchema: object) => {
    const { intents, notes, skipped } = plan([{ name: 'x', inputSchema }]);
    return { inputs: intents[0]?.input_parameters, body: intents[0]?.endpoint.body, notes: notes.map(({ note }) => note), skipped };
  };

  test('a schema without members is one of a tool without arguments', () => {
    for (const schema of [{}, { type: 'object' }, { type: 'object', properties: {} }, { type: 'object', additionalProperties: false }])
      expect(inputs(schema)).toEqual({ inputs: [], body: undefined, notes: [], skipped: [] });
  });

  test('a schema that allows members which it does not name becomes one object', () => {
    const open = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true };
    expect(inputs(open)).toMatchObject({ body: 'body', inputs: [{ name: 'body', type: 'object', required: true }], skipped: [] });
  });

  test('a reference to the network is never followed', () => {
    const { notes, inputs: parameters } = inputs({ type: 'object', properties: { a: { $ref: 'https://evil.example/schema.json' } } });
    expect(parameters).toEqual([{ name: 'a', type: 'any' }]);
    expect(notes).toEqual(['the reference leads out of the schema, and is not followed; anything is allowed in its place']);
  });

  test('a schema of 200 KB is described as far as 16 KB last', () => {
    const deep = (level: number): object => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 8 }, (_, at) => [
          `member_${at}`,
          level === 0 ? { type: 'string', description: 'x'.repeat(60) } : deep(level - 1),
        ]),
      ),
    });
    const schema = { type: 'object', properties: { whole: deep(3) } };
    expect(JSON.stringify(schema).length).toBeGreaterThan(200_000);
    const { inputs: parameters, notes } = inputs(schema);
    expect(JSON.stringify(parameters).length).toBeLessThan(17_000);
    expect(notes).toEqual([expect.stringMatching(/^its nested inputs are described only to level \d, because more takes over 16 KB$/)]);
  });

  test('a tool that repeats two arguments in one header field is skipped', () => {
    const properties = { a: { type: 'string', 'x-mcp-header': 'Same' }, b: { type: 'string', 'x-mcp-header': 'same' } };
    expect(inputs({ type: 'object', properties }).skipped).toMatchObject([{ operation: 'x', reason: 'has the same x-mcp-header twice' }]);
  });
});

test('a tool that can be called only as a task is skipped', () => {
  const { skipped } = plan([
    tool('slow', { execution: { taskSupport: 'required' } }),
    tool('fast', { execution: { taskSupport: 'optional' } }),
  ]);
  expect(skipped).toEqual([{ operation: 'slow', path: '/tools/0', reason: 'can be called only as a task' }]);
});

test('a server whose address may not be called has no intents', () => {
  const { intents, skipped } = plan([tool('x')], { url: 'https://10.0.0.1/mcp' });
  expect([intents, skipped.length]).toEqual([[], 1]);
});

test.each<[title: string, document: object, more: object, message: string]>([
  ['without an address', { mcp_server: {}, tools: [] }, {}, 'The tools have no address of their server. Give it with --base-url.'],
  [
    'with a wrong namespace',
    { mcp_server: { url: 'https://a.example' }, tools: [] },
    { namespace: 'ä' },
    'A namespace has at most 80 letters, digits, dots and hyphens. Give one with --namespace.',
  ],
])('tools %s are not planned', (_, document, more, message) => {
  expect(() => planImport(document, { ...options, ...more })).toThrow(message);
});
