import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';
import { bodyOf, startApi } from './api.ts';

const api = await startApi();
let hung = 0;
let isOver = false;
const hanging = createServer((_, response) => {
  hung++;
  if (isOver) response.destroy();
});
const healthy = createServer(
  (_, response) => void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'),
);
afterAll(async () => {
  await Promise.all([close(hanging), close(healthy), api.stop()]);
});

async function createIntent(server: Server): Promise<string> {
  const intent_uid = `fair.example:n${randomUUID().slice(0, 8)}:v1`;
  const parameters = { input_parameters: [], output_parameters: [{ name: 'name', type: 'string' }] };
  const endpoint = `http://127.0.0.1:${await listen(server)}/`;
  const intent = { intent_uid, intent_name: 'Get country', description: 'Tells a country', ...parameters, endpoint };
  bodyOf(await api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, intent), 201);
  return intent_uid;
}

/**
 * On AWS each of these calls has an environment of its own, and the reserved concurrency bounds them all. Here few environments share what
 * waits.
 */
test('fifty callers of an upstream that hangs do not keep another agent waiting', async () => {
  const [hangingUid, healthyUid] = [await createIntent(hanging), await createIntent(healthy)];
  const pats = await Promise.all(Array.from({ length: 10 }, () => api.obtainPat()));
  const pat = await api.obtainPat();
  expect((await api.execute(pat, healthyUid, {})).status).toBe(200);

  const calls = Array.from({ length: 50 }, (_, index) => api.execute(pats[index % pats.length] ?? '', hangingUid, {}));
  while (hung < 20) await sleep(20);
  const startMs = performance.now();
  expect((await api.execute(pat, healthyUid, {})).status).toBe(200);
  expect(performance.now() - startMs).toBeLessThan(1_000);

  isOver = true;
  hanging.closeAllConnections();
  const answers = await Promise.all(calls);
  // broken off by the upstream, or refused because many had been waiting for it already
  expect(answers.filter(({ status }) => status !== 502 && status !== 503)).toEqual([]);
});
