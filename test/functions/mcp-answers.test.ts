import { afterAll, expect, test } from '@jest/globals';
import { createAction as createPutCredential } from '../../functions/put-service-credential.ts';
import { newAgent, obtainPat, startGate } from '../support/gate.ts';
import { byAdmin, invoke } from '../support/invoke.ts';
import { callTool, openMcp } from '../support/mcp.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';

const gate = await startGate();
const upstream = await startUpstream(({ headers }, response) => {
  const items = Array.from({ length: 500 }, (_, at) => `item ${at}`);
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ next: `/?key=${headers['x-api-key']}`, items }));
});
afterAll(async () => {
  await gate.stop();
  await upstream.stop();
});

test('execute_intent hides an echoed credential, cuts the answer to max_bytes, and reports mismatches', async () => {
  const origin = `http://127.0.0.1:${upstream.port}`;
  const { service_id } = await gate.services.create({ ...serviceNamed('Echo'), service_url: origin });
  const endpoint = { url: `${origin}/things`, method: 'POST', content_type: 'application/json' } as const;
  await gate.intents.create(service_id, intentOf('echo.example:list:v1', { endpoint, input_parameters: [] }));
  const egress = { ports: [443], allowLoopback: true, ownHosts: [] };
  const put = createPutCredential({ services: gate.services, credentials: gate.credentials, egress });
  const stored = await invoke(byAdmin(put), 'PUT /api/services/{service_id}/credential', {
    path: { service_id },
    body: { header_name: 'X-Api-Key', header_value: 'canary-0123456789' },
  });
  expect(stored.status).toBe(200);

  const mcp = openMcp(gate);
  const pat = await obtainPat(gate, await newAgent());
  const execute = async (max_bytes?: number) => {
    const args = { intent_uid: 'echo.example:list:v1', parameters: {}, pat, max_bytes };
    const { body } = await callTool(mcp, 'execute_intent', args);
    expect(upstream.seen.at(-1)?.headers['x-api-key']).toBe('canary-0123456789');
    expect(JSON.stringify(body)).not.toContain('canary');
    const { structuredContent, content } = body.result;
    return { data: structuredContent, text: content.map(({ text }: { text: string }) => text).join('\n') };
  };
  const mismatch = 'The call was executed, but its answer does not match output_parameters at /name.';

  const whole = await execute();
  expect(whole.data).toMatchObject({ next: '/?key=[credential]', items: { length: 500 } });
  expect(whole.text).toContain(mismatch);
  expect(whole.text).not.toContain('was cut');

  const cut = await execute(1_000);
  const { items } = cut.data;
  expect(items.length).toBeLessThan(100);
  expect(cut.data).toEqual({
    next: '/?key=[credential]',
    items: Array.from(items, (_, at) => `item ${at}`),
    cut: { at: `/items/${items.length}`, total: 500 },
  });
  expect(Buffer.byteLength(JSON.stringify(cut.data))).toBeLessThanOrEqual(1_000);
  expect(cut.text).toContain(mismatch);
  expect(cut.text).toContain('The answer was longer than max_bytes and was cut');
});
