import { mcpTools, mcpToolsQuery } from '../../schemas/mcp-upstreams/mcp-tools.ts';
import type { Declaration } from '../declaration.ts';

export const mcpUpstreams = {
  endpoints: {
    Services: {
      'list-mcp-tools': {
        method: 'GET',
        path: '/api/mcp-tools',
        summary: 'Read the tools of an MCP server',
        description: 'Asks the server at `url` for a page of its tools, from which `import` makes intents. Nothing is registered.',
        credential: 'admin',
        errors: ['NOT_FOUND', 'INTENT_EXECUTION_FAILED'],
        query: mcpToolsQuery,
        answer: mcpTools,
        needs: { table: { service: ['get'] }, egress: 'intents', credentials: 'read' },
        timeoutSeconds: 29,
        example: {
          query: { url: 'https://tides.example/mcp' },
          answer: {
            server: { name: 'tides', title: 'Tides', version: '1.4.0' },
            tools: [
              {
                name: 'next_high_tide',
                description: 'Tells when the next high tide is.',
                inputSchema: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
                annotations: { readOnlyHint: true },
              },
            ],
          },
        },
      },
    },
  },
} as const satisfies Declaration;
