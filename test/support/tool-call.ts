/** The message that calls a tool of the endpoint for MCP. */
export const toolCall = (name: string, args: unknown, id: number | string = 1) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name, arguments: args },
});
