import { afterAll, describe, expect, test } from '@jest/globals';
import { createAction as createPutCredential } from '../../../functions/put-service-credential.ts';
import { newAgent, obtainPat, startGate } from '../../support/gate.ts';
import { byAdmin, invoke } from '../../support/invoke.ts';
import { callTool, openMcp } from '../../support/mcp/mcp.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';

const gate = await startGate();
const upstream = await startUpstream(({ headers, url }, response) => {
  if (url === '/orders') {
    response.writeHead(201, { Location: `/orders/7?key=${headers['x-api-key']}`, 'X-Total-Count': '4' }).end();
    return;
  }
  if (url === '/plain') {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"x"}');
    return;
  }
  if (url === '/closed') {
    response.writeHead(403, { 'Content-Type': 'text/html', 'Retry-After': '90' }).end('<h1>Project 7</h1> is <b>archived</b>');
    return;
  }
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

describe('answers over MCP', () => {
  const call = async (path: string) => {
    const origin = `http://127.0.0.1:${upstream.port}`;
    const { service_id } = await gate.services.create({ ...serviceNamed(`Heads ${path}`), service_url: origin });
    const endpoint = { url: origin + path, method: 'POST', content_type: 'application/json' } as const;
    const intent_uid = `heads.example:${path.slice(1)}:v1`;
    await gate.intents.create(service_id, {
      ...intentOf(intent_uid, { input_parameters: [], output_parameters: [] }),
      endpoint: { ...endpoint, response_headers: ['X-Total-Count'] },
    });
    const pat = await obtainPat(gate, await newAgent());
    const { body } = await callTool(openMcp(gate), 'execute_intent', { intent_uid, parameters: {}, pat });
    return body.result;
  };

  test('the head of an answer is in _meta and in a line of text', async () => {
    const head = { 'Upstream-Status': '201', 'Upstream-Location': expect.stringMatching(/^\/orders\/7/), 'Upstream-X-Total-Count': '4' };
    const { content, _meta } = await call('/orders');
    expect(_meta).toEqual({ 'intent-gate/upstream': head });
    expect(content.map(({ text }: { text: string }) => text)).toEqual([
      '{}',
      `Status and header fields of the service's answer: ${JSON.stringify(_meta['intent-gate/upstream'])}`,
    ]);
  });

  test('a plain 200 has no line of text', async () => {
    const { content, _meta } = await call('/plain');
    expect(_meta).toEqual({ 'intent-gate/upstream': { 'Upstream-Status': '200' } });
    expect(content).toHaveLength(1);
  });

  test('the reason of a 403 may be about the parameters, and says when to try again', async () => {
    const { content, isError, structuredContent } = await call('/closed');
    expect([isError, structuredContent.error.details.upstream_body]).toEqual([true, 'Project 7 is archived']);
    expect(content[0].text).toMatch(/"upstream_body":"Project 7 is archived".*"retry_after_seconds":90/);
    expect(structuredContent.next).toMatch(/^Look at upstream_status and upstream_body/);
  });
});
