import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import type { Answered } from '../../../bin/local/gateway.ts';
import { startStack } from '../../../bin/local/stack.ts';

const answered: Answered[] = [];
const lines: string[] = [];
const stack = await startStack({
  port: 0,
  demo: false,
  quiet: true,
  context: { protocol: 'uim' },
  environment: { LOG_LEVEL: 'INFO' },
  onAnswered: (entry) => answered.push(entry),
  onLog: (line) => lines.push(line),
});
afterAll(() => stack.stop());

test('the functions serve, under the settings of this stack', async () => {
  const response = await fetch(`${stack.base_url}/api/services/none`);
  const { error } = (await response.json()) as { error: { code: string; details: { reference: string; request_id: string } } };
  expect(response.status).toBe(404);
  expect(error).toMatchObject({ code: 'NOT_FOUND', details: { reference: 'UIM-RES-001' } });
  expect(response.headers.get('x-request-id')).toBe(error.details.request_id);
  expect(answered.at(-1)).toMatchObject({ method: 'GET', path: '/api/services/none', status: 404 });
});

test('the admin may write and the ordinary user may not', async () => {
  const create = (token: string) =>
    fetch(`${stack.base_url}/api/services`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ service_name: 'Mine', service_url: 'https://mine.example', description: 'A service' }),
    });
  expect((await create(stack.user_token)).status).toBe(403);
  expect((await create(stack.signIn('admin'))).status).toBe(201);
});

test('the gate knows the address at which it is called', async () => {
  const policy = (await (await fetch(`${stack.base_url}/api/policy`)).json()) as { uid: string };
  expect(policy.uid.startsWith(stack.base_url)).toBe(true);
});

test('the functions log lines of JSON', async () => {
  while (!lines.some((line) => line.includes('"status":201'))) await sleep(10);
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    expect.arrayContaining([expect.objectContaining({ message: 'answered', status: 404 }), expect.objectContaining({ status: 201 })]),
  );
});

test('without the demo there is no upstream', () => {
  expect(stack.upstream_url).toBe('');
});
