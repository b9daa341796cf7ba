import type { UpstreamAnswer } from '../../../functions/core/relay/call.ts';
import { openRedactor } from '../../../functions/core/relay/redact.ts';
import type { TestedFeature } from '../feature.ts';
import { serviceNamed } from '../records.ts';

/** A server without tools, which nothing connects to. */
const answer = (id: number): UpstreamAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  url: '',
  body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { supportedVersions: ['2026-07-28'], tools: [] } })),
  redactor: openRedactor(undefined),
  durationMs: 0,
});

let count = 0;

export const mcpUpstreams: TestedFeature = {
  stores: () => ({
    relay: {
      connect: async ({ request: { body } }: { request: { body: string } }) => ({
        send: async () => answer(JSON.parse(body).id),
        drop: () => {},
      }),
    },
  }),
  cases: {
    'list-mcp-tools': {
      prepare: async ({ services }, namespace) => {
        const { service_id } = await services.create({
          ...serviceNamed(`Tools ${++count}`),
          ...(namespace !== undefined && { namespace }),
        });
        return { query: { url: 'https://tools.example/mcp', service_id } };
      },
    },
  },
  invalid: [['list-mcp-tools', { query: { url: 'ftp://tools.example' } }]],
};
