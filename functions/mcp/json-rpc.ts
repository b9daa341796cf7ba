import { isRawNumber, type RawNumber, toDouble } from '../../schemas/number.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json/json.ts';

/** Returned as it was sent, with every digit. */
export type RpcId = string | number | RawNumber;

/** A request, or, without `id`, a notification (JSON-RPC 2.0 section 4). */
export interface RpcMessage {
  id?: RpcId;
  method: string;
  params: JsonObject;
}

/** The errors of JSON-RPC 2.0 section 5.1, of MCP 2025-11-25 and of MCP 2026-07-28: code and usual HTTP status. */
const rpcErrors = {
  parseError: [-32700, 400],
  invalidRequest: [-32600, 400],
  methodNotFound: [-32601, 200],
  invalidParams: [-32602, 200],
  internalError: [-32603, 200],
  headerMismatch: [-32020, 400],
  unsupportedProtocolVersion: [-32022, 400],
  urlElicitationRequired: [-32042, 200],
} as const;

/** A protocol error, as opposed to a call that a tool refuses. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly status: number;
  readonly data: object | undefined;

  constructor(name: keyof typeof rpcErrors, message: string, { status, data }: { status?: number; data?: object } = {}) {
    super(message);
    const [code, usualStatus] = rpcErrors[name];
    this.code = code;
    this.status = status ?? usualStatus;
    this.data = data;
  }
}

/** @returns the id of a message, which may be invalid in other respects; undefined if it has none, or none that is valid */
export function readId(body: JsonValue): RpcId | undefined {
  const id = isObject(body) ? body.id : undefined;
  if (isRawNumber(id)) return /^-?\d+$/.test(id.rawJSON) ? id : toInteger(toDouble(id));
  return typeof id === 'string' ? id : toInteger(id);
}

const toInteger = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);

/**
 * Reads one message. Batches are refused: current revisions have none.
 * @throws RpcError
 */
export function readMessage(body: JsonValue): RpcMessage {
  if (!isObject(body) || body.jsonrpc !== '2.0' || typeof body.method !== 'string') {
    throw new RpcError('invalidRequest', 'The body must be one JSON-RPC 2.0 request or notification.');
  }
  const { method } = body;
  const params = body.params ?? {};
  const id = readId(body);
  if (id === undefined && body.id !== undefined) {
    throw new RpcError('invalidRequest', 'The id of a request must be a string or an integer.');
  }
  if (!isObject(params)) throw new RpcError('invalidRequest', 'The params of a message must be an object.');
  return { ...(id !== undefined && { id }), method, params };
}

/** @param id - undefined if it could not be read */
export const describeRpcError = ({ code, message, data }: RpcError, id?: RpcId) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  error: { code, message, ...(data && { data }) },
});
