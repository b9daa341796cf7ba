/** The socket of the features in imports: each adds a kind of document. */
import type { DocumentKind } from './import/document-kind.ts';
import { mcpServers } from './mcp-upstreams/mcp-servers.ts';

export const documentKinds: readonly DocumentKind[] = [mcpServers];
