import type { AdminSection } from '../section.ts';

export const mcpUpstreamsView: AdminSection = { path: 'mcp-upstreams', imports: 'an MCP server' };
