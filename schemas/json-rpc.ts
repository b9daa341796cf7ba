import * as z from 'zod';

/** The id of a message (JSON-RPC 2.0 section 4). */
export const rpcId = z.union([z.string(), z.int()]);

/** The response to a message that failed (JSON-RPC 2.0 section 5). */
export const rpcError = z.object({
  jsonrpc: z.literal('2.0'),
  id: rpcId.optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() }),
});
