import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { usualUsage } from '../../../tools/cost/assumptions.ts';
import type { Gate } from '../../support/gate.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';

let support: typeof import('../../support/gate.ts');
let invoke: typeof import('../../support/invoke.ts')['invoke'];
let gate: Gate;
let upstream: Awaited<ReturnType<typeof startUpstream>>;

beforeAll(async () => {
  // As on Lambda. The logger reads these when it is made.
  Object.assign(process.env, {
    LOG_LEVEL: 'INFO',
    AWS_LAMBDA_FUNCTION_NAME: 'IntentGate-executeintentFunction0B3F9D2E-8KQv3bTq0sWm',
    _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1',
  });
  support = await import('../../support/gate.ts');
  ({ invoke } = await import('../../support/invoke.ts'));
  upstream = await startUpstream((_, response) => response.end('{"name":"France"}'));
  gate = await support.startGate();
});
afterAll(async () => {
  await gate.stop();
  await upstream.stop();
});

/** What a run writes to its log, with a request id as long as those of API Gateway. */
async function linesOf(run: () => Promise<unknown>): Promise<string[]> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await run();
    return written.mock.calls.flatMap(([text]) => String(text).replaceAll('request-1', randomUUID()).trimEnd().split('\n'));
  } finally {
    written.mockRestore();
  }
}

const bytesOf = (lines: string[]): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

/** Within a twentieth: figures such as a duration differ in length. */
function expectAbout(measured: number, assumed: number): void {
  expect([measured, measured / assumed]).toEqual([measured, expect.closeTo(1, 1)]);
}

test('an execution writes as much as the cost estimate assumes', async () => {
  const { service_id } = await gate.services.create(serviceNamed('Logged'));
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/`, method: 'POST', content_type: 'application/json' } as const;
  const uid = 'world.example:get-country:v1';
  await gate.intents.create(service_id, intentOf(uid, { endpoint }));
  let pat = '';
  const [issued = ''] = await linesOf(async () => {
    pat = await support.obtainPat(gate, await support.newAgent());
  });
  expect(JSON.parse(issued)).toMatchObject({ message: 'issued', policy_digest: expect.any(String) });
  expectAbout(bytesOf([issued]), usualUsage.issueLogBytes);
  const lines = await linesOf(() => support.execute(gate.openExecute(), pat, uid, { code: 'FR' }));
  const [executed, answered] = lines.map((line) => JSON.parse(line));
  expect(executed).toMatchObject({ message: 'executed', upstream_host: `127.0.0.1:${upstream.port}`, upstream_status: 200 });
  expect(answered).toMatchObject({ message: 'answered' });
  expect(lines).toHaveLength(2);
  expectAbout(bytesOf(lines), usualUsage.executionLogBytes);
});

test('another request writes as much as the cost estimate assumes', async () => {
  const { service_id } = await gate.services.create(serviceNamed('Read'));
  const { createAction } = await import('../../../functions/get-service.ts');
  const lines = await linesOf(() =>
    invoke(createAction({ ...gate, verifyAdmin: () => Promise.reject(new Error('nobody asks')) }), 'GET /api/services/{service_id}', {
      path: { service_id },
    }),
  );
  expect(lines).toHaveLength(1);
  expectAbout(bytesOf(lines), usualUsage.answerLogBytes);
});

test("Lambda's own lines are as long as the cost estimate assumes", () => {
  const requestId = randomUUID();
  const time = new Date().toISOString();
  const functionArn = 'arn:aws:lambda:us-east-1:123456789012:function:IntentGate-executeintentFunction0B3F9D2E-8KQv3bTq0sWm';
  const tracing = { spanId: '54565fb41ac79632', type: 'X-Amzn-Trace-Id', value: process.env._X_AMZN_TRACE_ID };
  const metrics = { durationMs: 321.123, billedDurationMs: 322, memorySizeMB: 1024, maxMemoryUsedMB: 142 };
  const lines = [
    { time, type: 'platform.start', record: { requestId, functionArn, version: '$LATEST' } },
    { time, type: 'platform.report', record: { requestId, metrics, tracing, status: 'success' } },
  ].map((line) => JSON.stringify(line));
  expectAbout(bytesOf(lines), usualUsage.platformLogBytes);
});
