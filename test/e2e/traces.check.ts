import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connect } from '../../client/connect.ts';
import { connectMcp, revisions } from '../support/mcp/mcp-client.ts';
import { intentOf } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { bodyOf, startApi } from './api.ts';

const logged: string[] = [];
// without count-usage, which logs when it has run
const api = await startApi({ background: false, onLog: (line) => logged.push(line) });
const upstream = await startUpstream((_, response) => response.end('{}'));
afterAll(() => upstream.stop());

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const otherId = '4bf92f3577b34da6a3ce929d0e0e4736';
const tracestate = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';

const intent_uid = 'e2e.example:trace:v1';
let pat = '';
beforeAll(async () => {
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/traced`, method: 'POST', content_type: 'application/json' } as const;
  await api.createIntent(intentOf(intent_uid, { endpoint, input_parameters: [], output_parameters: [] }));
  pat = await api.obtainPat();
});
beforeEach(() => {
  logged.length = 0;
  upstream.seen.length = 0;
});

/** The trace headers that the upstream got. */
const forwarded = () => upstream.seen.map(({ headers }) => [headers.traceparent, headers.tracestate]);

/** The trace ids of the log lines, and the span that the call of the upstream belongs to. */
function loggedTraces() {
  const lines = logged.map((line) => JSON.parse(line));
  return {
    traces: lines.map(({ message, trace_id }) => [message, trace_id]),
    spanId: lines.find(({ message }) => message === 'executed')?.span_id,
  };
}

describe('an execution', () => {
  test('an execution continues the trace of its headers, in the log and at the upstream', async () => {
    bodyOf(await api.execute(pat, intent_uid, {}, { traceparent, tracestate }));
    const { traces, spanId } = loggedTraces();
    expect(traces).toEqual([
      ['executed', traceId],
      ['answered', traceId],
    ]);
    expect(forwarded()).toEqual([[`00-${traceId}-${spanId}-01`, tracestate]]);
    expect(spanId).not.toBe('b7ad6b7169203331');
  });

  test('an execution continues the trace that a client names', async () => {
    const client = await connect(api.stack.base_url, { agentId: `agent-${randomUUID()}`, onPolicy: () => true });
    await client.execute(intent_uid, {}, { traceparent });
    expect(forwarded()).toEqual([[`00-${traceId}-${loggedTraces().spanId}-01`, undefined]]);
  });
});

describe.each(revisions)('a tool call of MCP revision %s', (revision) => {
  async function callTool(meta: Record<string, unknown>, headers: Record<string, string> = {}, name = 'execute_intent', args = {}) {
    const client = await connectMcp(api.stack.base_url, revision, { headers: { Authorization: `Bearer ${pat}`, ...headers } });
    logged.length = 0;
    const { isError } = await client.callTool({ name, arguments: args, _meta: meta });
    await client.close();
    return isError;
  }
  const execute = (meta: Record<string, unknown>, headers?: Record<string, string>) =>
    callTool(meta, headers, 'execute_intent', { intent_uid, parameters: {} });

  test.each<[string, Record<string, unknown>, Record<string, string>]>([
    ['_meta', { traceparent, tracestate }, {}],
    [
      '_meta rather than its headers',
      { traceparent, tracestate },
      { traceparent: traceparent.replace(traceId, otherId), tracestate: 'other=1' },
    ],
    ['its headers, if _meta has none', {}, { traceparent, tracestate }],
    ['its headers, if _meta has an invalid one', { traceparent: 'ff', tracestate: 'other=1' }, { traceparent, tracestate }],
  ])('a tool call continues the trace of %s', async (_, meta, headers) => {
    expect(await execute(meta, headers)).toBe(false);
    const { traces, spanId } = loggedTraces();
    expect(traces.slice(0, 3)).toEqual([
      ['executed', traceId],
      ['tool', traceId],
      ['answered', traceId],
    ]);
    expect(forwarded()).toEqual([[`00-${traceId}-${spanId}-01`, tracestate]]);
  });

  test('a tool call keeps its trace in the function that issues PATs', async () => {
    expect(await callTool({ traceparent }, {}, 'accept_policy', { agent_id: 'a' })).toBe(true);
    expect(loggedTraces().traces).toEqual([
      ['answered', traceId],
      ['tool', traceId],
      ['answered', traceId],
    ]);
  });
});
