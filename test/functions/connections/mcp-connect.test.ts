import { afterAll, expect, test } from '@jest/globals';
import { startIssuer } from '../../support/connections/issuer.ts';
import { openConnectionParts } from '../../support/connections/parts.ts';
import { baseUrl, startGate } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';
import { openMcp, toolEndpoints } from '../../support/mcp/mcp.ts';
import { toolCall } from '../../support/tool-call.ts';

// An agent of a person who has not connected yet.

const issuer = await startIssuer();
const gate = await startGate();
afterAll(() => Promise.all([gate.stop(), issuer.stop()]));
const parts = openConnectionParts(gate);
const client = { issuer: issuer.issuer, client_id: 'gate', client_secret: issuer.clientSecret, grant: 'person' };
const { serviceId, uid } = await parts.newService('http://127.0.0.1:1', client);
const mcp = openMcp(gate, { endpoints: { ...toolEndpoints(gate), executeIntent: gate.openExecute(parts.openTokens()) } });
const pat = await parts.newPersonPat('person-1');
const url = `${baseUrl}/connect/${serviceId}`;
const message = 'The service needs your consent. The page shows it, and leads to the service.';

const send = (body: object, headers = {}) => invoke(mcp, 'POST /mcp', { headers: { Authorization: `Bearer ${pat}`, ...headers }, body });
const call = toolCall('execute_intent', { intent_uid: uid, parameters: { code: 'FR' } }, 'call-7');
const modern = (capabilities: object, more = {}) => ({
  body: {
    ...call,
    params: {
      ...call.params,
      ...more,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': capabilities,
      },
    },
  },
  headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'execute_intent' },
});

test('a host of 2026-07-28 that can open URLs is asked to open the page, once', async () => {
  const { body, headers } = modern({ elicitation: { url: {} } });
  const first = await send(body, headers);
  expect(first.body.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { connection: { method: 'elicitation/create', params: { mode: 'url', message, url } } },
    requestState: expect.stringMatching(/^mcp-/),
  });
  const { requestState } = first.body.result;
  const again = modern({ elicitation: { url: {} } }, { requestState, inputResponses: { connection: { action: 'accept' } } });
  expect((await send(again.body, again.headers)).body.result).toMatchObject({
    isError: true,
    structuredContent: {
      error: { code: 'FORBIDDEN', details: { reason: 'connect', url } },
      next: expect.stringContaining('connect to the service'),
    },
  });
});

test('a host of 2025-11-25 that can open URLs is asked to open the page', async () => {
  const { status, body } = await send(call, { 'Mcp-Session-Id': 'urls-00000000-0000-4000-8000-000000000000' });
  expect({ status, error: body.error }).toEqual({
    status: 200,
    error: {
      code: -32042,
      message: `${message} Then make the same call again.`,
      data: { elicitations: [{ mode: 'url', message, url, elicitationId: 'request-1' }] },
    },
  });
});

test('any other host is told in words', async () => {
  const { body } = await send(call);
  expect(body.result).toMatchObject({ isError: true, structuredContent: { error: { details: { reason: 'connect', url } } } });
  expect(body.result.content[0].text).toContain(`"url":"${url}"`);
});
