import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The revisions of the protocol that the tests go through: the newest two, which differ most. */
export const revisions = ['2025-11-25', '2026-07-28'];

interface Options {
  headers?: Record<string, string>;
  capabilities?: ClientCapabilities;
  fetch?: typeof fetch;
}

/** The official client of MCP, connected to the gate at this base URL. */
export async function connectMcp(
  baseUrl: string,
  revision: string,
  { headers = {}, capabilities = {}, fetch }: Options = {},
): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const options = { requestInit: { headers }, ...(fetch && { fetch }) };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), options));
  return client;
}
