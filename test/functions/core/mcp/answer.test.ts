import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import * as z from 'zod';
import { ApiError, unavailable } from '../../../../functions/core/api-error.ts';
import type { Hold } from '../../../../functions/core/execution/hold.ts';
import { ok } from '../../../../functions/core/http/response.ts';
import type { JsonValue } from '../../../../functions/core/json.ts';
import { openAnswers } from '../../../../functions/core/mcp/answer.ts';
import { nextCall } from '../../../../functions/core/mcp/next-call.ts';
import type { Tool } from '../../../../functions/core/mcp/tool.ts';
import { CallFailed } from '../../../../functions/core/relay/call-failure.ts';
import { invoke } from '../../../support/invoke.ts';

const previous = process.env.LOG_LEVEL;
beforeEach(() => {
  process.env.LOG_LEVEL = 'INFO';
});
afterEach(() => {
  process.env.LOG_LEVEL = previous;
});

/** looks once */
const once: Hold = (read) => read();

const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

test.each<[string, (() => never) | undefined, object]>([
  ['that succeeds', undefined, { level: 'INFO' }],
  [
    'that is refused',
    () => {
      throw new ApiError('NOT_FOUND', 'There is no such intent.');
    },
    { level: 'INFO', code: 'NOT_FOUND' },
  ],
  [
    'whose upstream fails',
    () => {
      throw new CallFailed('deadline');
    },
    { level: 'INFO', code: 'GATEWAY_TIMEOUT', fault: 'upstream' },
  ],
  [
    'that the gate cannot run',
    () => {
      throw unavailable('The gate cannot reach its database.', new Error('table'));
    },
    { level: 'ERROR', code: 'SERVICE_UNAVAILABLE', cause: expect.objectContaining({ name: 'Error' }) },
  ],
])('a tool %s leaves a line that alarms can tell apart, although all are answered with 200', async (_, fail, expected) => {
  const tool: Tool = {
    name: 'execute_intent',
    title: 'Execute',
    description: 'Executes',
    annotations,
    input: z.object({}),
    run: async () => fail?.() ?? { data: {} },
  };
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const { status } = await invoke(
      openAnswers([tool], async () => ok({}), once, '1'),
      {
        method: 'POST',
        path: '/mcp',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name } }),
      },
    );
    expect(status).toBe(200);
    const lines = written.mock.calls.map(([text]) => JSON.parse(String(text)));
    const { level, code, fault, cause } = lines.find(({ message }) => message === 'tool');
    expect({ level, code, fault, cause }).toEqual({ code: undefined, fault: undefined, cause: undefined, ...expected });
  } finally {
    written.mockRestore();
  }
});

test('who asks too early for the result of a task is told how to ask again', async () => {
  const answer = openAnswers([], async () => ok({ status: 'waiting' }), once, '1');
  const message = { jsonrpc: '2.0', id: 1, method: 'tasks/result', params: { taskId: '1' } };
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer x' };
  const { body } = await invoke(answer, { method: 'POST', path: '/mcp', headers, body: JSON.stringify(message) });
  expect(body.error).toEqual({
    code: -32603,
    message: 'The call has not ended yet. Ask tasks/get every few seconds; when the task is no longer working, ask tasks/result again.',
  });
});

test.each<[JsonValue | undefined, boolean]>([
  [undefined, true],
  ['~'.repeat(255), true],
  ['', false],
  ['~'.repeat(256), false],
  ['a\nb', false],
  ['é', false],
  [{}, false],
])('requestState %j names a call: %j', async (requestState, isValid) => {
  const keys: string[] = [];
  const tool: Tool = {
    ...{ name: 'execute_intent', title: 'Execute', description: 'Executes', annotations, input: z.object({}) },
    run: async (_args, _request, { key }) => {
      keys.push(key);
      return { data: {} };
    },
  };
  const revision = '2026-07-28';
  const named = { 'MCP-Protocol-Version': revision, 'Mcp-Method': 'tools/call', 'Mcp-Name': tool.name };
  const _meta = { 'io.modelcontextprotocol/protocolVersion': revision, 'io.modelcontextprotocol/clientCapabilities': {} };
  const { body } = await invoke(
    openAnswers([tool], async () => ok({}), once, '1'),
    {
      ...{ method: 'POST', path: '/mcp', headers: { 'Content-Type': 'application/json', ...named } },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, requestState, _meta } }),
    },
  );
  if (isValid) expect(keys).toEqual([requestState ?? expect.stringMatching(/^mcp-/)]);
  else {
    expect(keys).toEqual([]);
    expect(body.error).toEqual({
      code: -32602,
      message: expect.stringMatching(/^requestState must have 1 to 255 visible ASCII characters/),
    });
  }
});

test('the advice about a call that was made, whose answer was not kept, is not to make it again', () => {
  expect(nextCall('execute_intent', new ApiError('CONFLICT', 'It was made.', { details: { reason: 'unkept', outcome: 'executed' } }))).toBe(
    'It was done. Do not make the same call again.',
  );
});
