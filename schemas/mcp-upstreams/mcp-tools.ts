import * as z from 'zod';
import { addressToRead } from '../address.ts';

/** The query of `GET /api/mcp-tools`. */
export const mcpToolsQuery = z.object({
  url: addressToRead.describe('the address of the MCP server'),
  service_id: z.string().max(200).optional().describe('requests carry the header fields and the credential of this service'),
  cursor: z.string().max(4_096).optional().describe('next_cursor of the page before'),
});

/** A tool as its server describes it, whose members may have any form. */
const mcpTool = z.looseObject({ name: z.string() }).meta({ id: 'McpTool', description: 'A tool as its server describes it.' });

export const mcpTools = z
  .strictObject({
    server: z
      .record(z.string(), z.unknown())
      .describe('what the server says about itself: name, title, version, description, instructions'),
    tools: z.array(mcpTool),
    next_cursor: z.string().optional().describe('absent on the last page'),
  })
  .meta({ id: 'McpTools', description: 'A page of the tools of an MCP server.' });

export type McpTools = z.infer<typeof mcpTools>;
