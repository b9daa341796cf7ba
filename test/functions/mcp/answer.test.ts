import { afterEach, expect, jest, test } from '@jest/globals';
import * as z from 'zod';
import { ok } from '../../../functions/core/http/response.ts';
import type { JsonValue } from '../../../functions/core/json/json.ts';
import { CallFailed } from '../../../functions/core/relay/call-failure.ts';
import { ApiError, unavailable } from '../../../functions/core/runtime/api-error.ts';
import { openAnswers } from '../../../functions/mcp/answer.ts';
import { nextCall } from '../../../functions/mcp/next-call.ts';
import type { Tool } from '../../../functions/mcp/tool.ts';
import { inToolTerms } from '../../../functions/mcp/tool-terms.ts';
import { captureLog } from '../../support/capture-log.ts';
import { invoke } from '../../support/invoke.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const call = (run: Tool['run'], method: string, params: object, headers: Record<string, string> = {}) => {
  const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
  const tool: Tool = { name: 'execute_intent', title: 'Execute', description: 'Executes', annotations, input: z.object({}), run };
  const action = openAnswers([tool], async () => ok({ status: 'waiting' }), '1');
  return invoke(action, 'POST /mcp', { headers, body: { jsonrpc: '2.0', id: 1, method, params } });
};

test.each<[string, Error | undefined, object]>([
  ['that succeeds', undefined, { level: 'INFO' }],
  ['that is refused', new ApiError('NOT_FOUND', 'There is no such intent.'), { level: 'INFO', code: 'NOT_FOUND' }],
  ['whose upstream fails', new CallFailed('deadline'), { level: 'INFO', code: 'GATEWAY_TIMEOUT', fault: 'upstream' }],
  [
    'that the gate cannot run',
    unavailable('The gate cannot reach its database.', new Error('table')),
    { level: 'ERROR', code: 'SERVICE_UNAVAILABLE', cause: expect.objectContaining({ name: 'Error' }) },
  ],
])('a tool call %s is logged so that alarms can distinguish it, although all get 200', async (_, failure, expected) => {
  const written = captureLog();
  const run = async () => {
    if (failure) throw failure;
    return { data: {} };
  };
  expect((await call(run, 'tools/call', { name: 'execute_intent' })).status).toBe(200);
  const lines = written.map((text) => JSON.parse(text));
  const { level, code, fault, cause } = lines.find(({ message }) => message === 'tool');
  expect({ level, code, fault, cause }).toEqual({ code: undefined, fault: undefined, cause: undefined, ...expected });
});

test('an answer states the wait in seconds instead of naming a header', async () => {
  const busy = new ApiError('SERVICE_UNAVAILABLE', 'Busy. Try again after Retry-After.', { headers: { 'Retry-After': '7' } });
  const { body } = await call(() => Promise.reject(busy), 'tools/call', { name: 'execute_intent' });
  expect(body.result.structuredContent.error.message).toBe('Busy. Try again after 7 seconds.');
});

test('tasks/result of a running task says how to continue', async () => {
  const { body } = await call(async () => ({ data: {} }), 'tasks/result', { taskId: '1' }, { Authorization: 'Bearer x' });
  expect(body.error).toEqual({
    code: -32603,
    message: 'The call has not ended yet. Poll tasks/get every few seconds; once the task is no longer working, call tasks/result again.',
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
])('the requestState %j is valid: %j', async (requestState, isValid) => {
  const keys: string[] = [];
  const run: Tool['run'] = async (_args, _request, { key }) => {
    keys.push(key);
    return { data: {} };
  };
  const revision = '2026-07-28';
  const headers = { 'MCP-Protocol-Version': revision, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'execute_intent' };
  const _meta = { 'io.modelcontextprotocol/protocolVersion': revision, 'io.modelcontextprotocol/clientCapabilities': {} };
  const { body } = await call(run, 'tools/call', { name: 'execute_intent', requestState, _meta }, headers);
  expect(keys).toEqual(isValid ? [requestState ?? expect.stringMatching(/^mcp-/)] : []);
  const message = expect.stringMatching(/^requestState must have 1 to 255 visible ASCII characters/);
  expect(body.error).toEqual(isValid ? undefined : { code: -32602, message });
});

test('a request for a task without an id is refused, and one for an unknown task in terms of tasks', async () => {
  const none = await call(async () => ({ data: {} }), 'tasks/get', {});
  expect(none.body.error).toEqual({ code: -32602, message: 'params.taskId must be the id of a task.' });
  const text = inToolTerms('You have no deferred call with this id. Use the address in the 202 response.');
  expect(text).toBe('You have no deferred call with this id.');
  expect(nextCall('tasks/get', new ApiError('NOT_FOUND', text))).toMatch(/^Send the taskId exactly as it was given\./);
});

test('an answer advises against repeating a call that was made but whose answer was not stored', () => {
  const outcomeNotStored = new ApiError('CONFLICT', 'It was made.', { details: { reason: 'not_stored', outcome: 'executed' } });
  expect(nextCall('execute_intent', outcomeNotStored)).toBe('It was done. Do not make the same call again.');
});
