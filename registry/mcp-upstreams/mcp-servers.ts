import { Refusal } from '../../client/errors.ts';
import { mcpTools } from '../../schemas/mcp-upstreams/mcp-tools.ts';
import { type Api, readAnswer } from '../api.ts';
import { CliFailure } from '../failure.ts';
import type { DocumentKind } from '../import/document-kind.ts';
import { isNode, list } from '../import/node.ts';
import { planTools } from './plan-tools.ts';

/** Maximum number of pages that are read. */
const maxPages = 1_000;

/** Lists the tools of a server, which the gate asks: it may reach servers that the admin's machine does not, and has the credential. */
async function load(api: Api, url: string, serviceId: string | undefined): Promise<object> {
  const tools: object[] = [];
  const cursors = new Set<string | undefined>();
  for (let cursor: string | undefined; ; ) {
    if (cursors.has(cursor) || cursors.size > maxPages) throw new CliFailure('failure', 'it lists its tools without an end.');
    cursors.add(cursor);
    const query = { url, ...(serviceId !== undefined && { service_id: serviceId }), ...(cursor !== undefined && { cursor }) };
    const page = readAnswer(mcpTools, await api.call('GET', '/api/mcp-tools', { isAdmin: true, query }).catch(explainDenial));
    tools.push(...page.tools);
    cursor = page.next_cursor;
    if (cursor === undefined) return { mcp_server: { ...page.server, url }, tools };
  }
}

function explainDenial(error: unknown): never {
  if (!(error instanceof Refusal) || ![401, 403].includes(Number(error.details.upstream_status))) throw error;
  throw new CliFailure(
    'credentials',
    'it denies access to the gate. Register its service ("services create"), give it a credential ("services credential set"), and import with --service.',
  );
}

/** The tools of an MCP server, as a document. */
export const mcpServers: DocumentKind = {
  name: 'an MCP server',
  load,
  recognises: ({ mcp_server, tools }) => isNode(mcp_server) && list(tools) === tools,
  plan: planTools,
};
