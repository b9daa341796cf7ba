import { afterAll, expect, test } from '@jest/globals';
import { makeFolder } from '../../support/folder.ts';
import { intentOf } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';
import { type Api, bodyOf, openApi } from '../api.ts';

const upstream = await startUpstream(({ url = '' }, response) => {
  const [, status = '200'] = /status=(\d+)/.exec(url) ?? [];
  response.writeHead(Number(status), { 'Content-Type': 'application/json' }).end('{}');
});
let api: Api;
afterAll(async () => {
  await api.stop();
  await upstream.stop();
});
const dataFolder = makeFolder();

const rowsOf = async (client: Api, query: string, list: string): Promise<Record<string, unknown>[]> =>
  bodyOf(await client.asAdmin('GET', `/api/stats?${query}`))[list];

test('every execution is counted once, although the stack stops right after the last one', async () => {
  api = await openApi({ dataFolder });
  const uid = 'usage.example:call:v1';
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/?status={status}`, method: 'GET', content_type: 'application/json' } as const;
  const input_parameters = [{ name: 'status', type: 'integer', required: true } as const];
  const service_id = await api.createIntent(intentOf(uid, { endpoint, input_parameters }));
  const [ann, bob] = [await api.obtainPat('ann'), await api.obtainPat('bob')];
  const key = { 'Idempotency-Key': 'once' };
  await Promise.all([
    ...Array.from({ length: 25 }, () => api.execute(ann, uid, { status: 200 })),
    ...Array.from({ length: 4 }, () => api.execute(bob, uid, { status: 401 })),
    api.execute(bob, uid, {}),
    api.execute(bob, 'usage.example:nothing:v1', {}),
    api.executeOverMcp(bob, uid, { status: 200 }),
  ]);
  // a stored answer is an execution without a call
  for (let times = 0; times < 3; times++) await api.execute(ann, uid, { status: 200 }, key);
  await api.stop();

  api = await openApi({ dataFolder });
  const numbers = (row: Record<string, unknown> = {}) => {
    const { executions, refusals, upstream_calls, upstream_failures } = row;
    return { executions, refusals, upstream_calls, upstream_failures };
  };
  const ofService = {
    executions: 34,
    refusals: { INTENT_EXECUTION_FAILED: 4, INVALID_PARAMETER: 1 },
    upstream_calls: 31,
    upstream_failures: 4,
  };
  for (const period of ['hour', 'day', 'month']) {
    const services = await rowsOf(api, `period=${period}`, 'services');
    expect(services.map((row) => [row.service_id, numbers(row)])).toEqual([
      [service_id, ofService],
      [undefined, { executions: 1, refusals: { NOT_FOUND: 1 }, upstream_calls: 0, upstream_failures: 0 }],
    ]);
    const intents = await rowsOf(api, `by=intent&period=${period}`, 'intents');
    expect(intents.map((row) => [row.intent_uid, row.service_id, numbers(row)])).toEqual([[uid, service_id, ofService]]);
    const agents = await rowsOf(api, `by=agent&period=${period}`, 'agents');
    expect(agents.map((row) => [row.agent_id, numbers(row)])).toEqual([
      ['ann', { executions: 28, refusals: {}, upstream_calls: 26, upstream_failures: 0 }],
      [
        'bob',
        {
          executions: 7,
          refusals: { INTENT_EXECUTION_FAILED: 4, INVALID_PARAMETER: 1, NOT_FOUND: 1 },
          upstream_calls: 5,
          upstream_failures: 4,
        },
      ],
    ]);
  }
});
