import * as z from 'zod';
import { errorBody } from '../../schemas/error-body.ts';
import { rpcError, rpcId } from '../../schemas/json-rpc.ts';
import type { Declaration } from '../declaration.ts';
import { noExample } from '../endpoints/endpoint.ts';

export const mcp = {
  endpoints: {
    Discovery: {
      mcp: {
        method: 'POST',
        path: '/mcp',
        summary: 'Search, read, accept the policy and execute over the Model Context Protocol',
        description: 'Takes JSON-RPC messages of the Model Context Protocol, without sessions.',
        credential: 'none',
        errors: ['UNSUPPORTED_MEDIA_TYPE', 'FORBIDDEN'],
        runs: ['search-intents', 'get-intent', 'execute-intent', 'get-execution'],
        body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
        answer: z.union([z.object({ jsonrpc: z.literal('2.0'), id: rpcId, result: z.looseObject({}) }), rpcError]),
        otherAnswers: {
          202: { description: 'The notification was accepted.' },
          400: { description: 'The message violates the protocol, or the request was refused.', answer: z.union([rpcError, errorBody]) },
          404: { description: 'There is no such method.', answer: z.union([rpcError, errorBody]) },
        },
        needs: { invokes: ['issue-pat'] },
        browserHeaders: ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id'],
        executionAlarms: 'Mcp',
        timeoutSeconds: 29,
        example: noExample,
      },
    },
  },
  limitedPaths: { Mcp: '/mcp' },
} as const satisfies Declaration;
