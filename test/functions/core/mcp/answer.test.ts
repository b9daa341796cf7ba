import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import * as z from 'zod';
import { ApiError, unavailable } from '../../../../functions/core/api-error.ts';
import { ok } from '../../../../functions/core/http/response.ts';
import { openAnswers } from '../../../../functions/core/mcp/answer.ts';
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
      openAnswers([tool], async () => ok({}), '1'),
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
