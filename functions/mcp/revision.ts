import type { ApiRequest } from '../core/http/request.ts';
import { isObject } from '../core/json/json.ts';
import { RpcError, type RpcMessage } from './json-rpc.ts';

/** The revision of MCP whose requests are self-contained. */
const modernRevision = '2026-07-28';

/** Earlier revisions with a handshake, newest first. The gate treats them alike. */
export const legacyRevisions = ['2025-11-25', '2025-06-18'];

export const revisions = [modernRevision, ...legacyRevisions];

export type Era = 'modern' | 'legacy';

const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';

/**
 * Modern requests name their revision in `_meta`, and repeat parts of the body in headers (MCP 2026-07-28, Streamable HTTP, "Request Metadata").
 * @throws RpcError if the revision is not supported, or header and body differ
 */
export function readEra({ method, params }: RpcMessage, request: ApiRequest): Era {
  const header = request.header('mcp-protocol-version');
  const meta = isObject(params._meta) ? params._meta : {};
  const claimed = meta[protocolVersionKey];
  if (claimed === undefined && header !== modernRevision) {
    if (header !== undefined && !legacyRevisions.includes(header)) throw unsupported(header);
    return 'legacy';
  }
  if (typeof claimed !== 'string' || !isObject(meta[capabilitiesKey])) {
    throw new RpcError('invalidParams', `params._meta must contain the text ${protocolVersionKey} and the object ${capabilitiesKey}.`, {
      status: 400,
    });
  }
  if (header !== undefined) requireHeader('MCP-Protocol-Version', header, claimed);
  if (claimed !== modernRevision) throw unsupported(claimed);
  requireHeader('MCP-Protocol-Version', header, claimed);
  requireHeader('Mcp-Method', request.header('mcp-method'), method);
  const name = decodeHeader(request.header('mcp-name'));
  if (method === 'tools/call') requireHeader('Mcp-Name', name, params.name);
  if (method.startsWith('tasks/') && name !== undefined) requireHeader('Mcp-Name', name, params.taskId);
  return 'modern';
}

/** The error has to name the requested revision, but must not echo arbitrary text. */
const unsupported = (requested: string) =>
  new RpcError('unsupportedProtocolVersion', `This server supports the MCP revisions ${revisions.join(', ')}. Use one of them.`, {
    data: { supported: revisions, requested: /^[\w.-]{1,32}$/.test(requested) ? requested : 'unknown' },
  });

function requireHeader(name: string, value: string | undefined, expected: unknown): void {
  if (value !== expected) throw new RpcError('headerMismatch', `The header ${name} must be sent and match the body.`);
}

/** Names beyond visible ASCII are encoded as `=?base64?...?=` (MCP 2026-07-28, Streamable HTTP, "Value Encoding"). */
function decodeHeader(value: string | undefined): string | undefined {
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? '') ?? [];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}
