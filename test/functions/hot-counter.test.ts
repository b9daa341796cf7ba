import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadPolicyTemplate } from '../../functions/core/policy/published-policy.ts';
import { openTable } from '../../functions/core/table/table.ts';
import { execute, type Gate, newAgent, obtainPat, startGate } from '../support/gate.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';

let gate: Gate;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let proxy: Server;
/** probability that a write of a counter is throttled */
let throttled = 0;
const uid = 'test.example:hot:v1';

beforeAll(async () => {
  gate = await startGate();
  upstream = await startUpstream((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'));
  const { service_id } = await gate.services.create(serviceNamed('Hot'));
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/countries`, method: 'POST' as const, content_type: 'application/json' };
  await gate.intents.create(service_id, intentOf(uid, { endpoint }));
  proxy = createServer(async (request, response) => {
    const body = await text(request);
    const isCounted = /\.(Put|Update)Item$/.test(String(request.headers['x-amz-target'])) && body.includes('"LIMIT#');
    if (isCounted && Math.random() < throttled) {
      const error = { __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException', message: 'Hot.' };
      return void response.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.0' }).end(JSON.stringify(error));
    }
    const { 'content-length': _, connection: __, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(gate.database.endpoint, { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'Content-Type': 'application/x-amz-json-1.0' }).end(await answer.text());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  });
});
afterAll(async () => {
  delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
  proxy.close();
  proxy.closeAllConnections();
  await upstream.stop();
  await gate.stop();
});

test.each([
  [0.5, 'minute'],
  [0.95, 'minute'],
  [0.5, 'second'],
  [0.95, 'second'],
])('with %s of the writes of its counter throttled, a limit by the %s is answered within 3 seconds', async (share, unit) => {
  const template = JSON.parse(JSON.stringify(loadPolicyTemplate()).replaceAll('vocabulary/minute', `vocabulary/${unit}`));
  const pat = await obtainPat(gate, await newAgent(), template);
  const steps = Array.from({ length: 10 }, () => gate.openExecute({ template, over: openTable(gate.database.tableNames) }));
  throttled = share;
  const answers = await Promise.all(
    steps.flatMap((own) =>
      Array.from({ length: 2 }, async () => {
        const startedMs = performance.now();
        const { status, headers } = await execute(own, pat, uid, { code: 'FR' });
        return { status, retryAfter: Number(headers['Retry-After'] ?? 0), tookMs: performance.now() - startedMs };
      }),
    ),
  );
  for (const { status, retryAfter, tookMs } of answers) {
    expect([200, 429, 503]).toContain(status);
    if (status !== 200) expect(retryAfter).toBeGreaterThan(0);
    expect(tookMs).toBeLessThan(3_000);
  }
});
