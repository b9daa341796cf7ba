import { randomUUID } from 'node:crypto';
import { canonicalDigest } from '../../schemas/canonical.ts';
import { idempotencyKey } from '../core/execution/idempotency-key.ts';
import type { ApiRequest } from '../core/http/request.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json/json.ts';
import { RpcError } from './json-rpc.ts';
import { capabilitiesKey, type Era } from './revision.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** How the client of a tool call can wait for it if it is deferred. */
export interface ClientCapabilities {
  era: Era;
  /** the client accepts a task instead of a result (2026-07-28), or has requested one (2025-11-25) */
  tasks: boolean;
  /** the response may ask the client to open a URL for its user */
  urls: boolean;
  /** default idempotency key if the call is deferred; the same when the client repeats the call */
  key: string;
  /** whether the key is derived from session and arguments, so that a later, equal call has it, too */
  isKeyDerived: boolean;
  /** the pages that earlier responses to this call named, and which the user has answered */
  seenPages: readonly string[];
}

/** Whether a legacy client has requested a task: the response then does not wait for the call. */
export const isLegacyTask = ({ era, tasks }: ClientCapabilities): boolean => era === 'legacy' && tasks;

/** A legacy client declares its capabilities once. The server is stateless, so the session id repeats them. */
const urlSession = /^urls-[0-9a-f-]{36}$/;

/** The header that starts a session with a legacy client that can open URLs; others need no session. */
export const sessionHeaders = ({ capabilities }: JsonObject): Record<string, string> =>
  isObject(within(capabilities, 'elicitation', 'url')) ? { 'Mcp-Session-Id': `urls-${randomUUID()}` } : {};

/** @throws RpcError if `requestState` cannot be the key of a call */
export function readCapabilities(era: Era, params: JsonObject, request: ApiRequest): ClientCapabilities {
  if (era === 'modern') {
    const declared = within(params._meta, capabilitiesKey);
    const { requestState, inputResponses } = params;
    return {
      era,
      tasks: isObject(within(declared, 'extensions', tasksExtension)),
      urls: isObject(within(declared, 'elicitation', 'url')),
      key: requestState === undefined ? newKey() : requireKey(requestState),
      isKeyDerived: false,
      seenPages: isObject(inputResponses) ? Object.keys(inputResponses).filter((page) => within(inputResponses, page, 'action')) : [],
    };
  }
  const { pat: _, ...named } = isObject(params.arguments) ? params.arguments : {};
  const tasks = isObject(params.task);
  // tasks, and calls that do not wait, are followed by their id or key
  const isFollowed = tasks || ![undefined, null, false, 'false', ''].includes(named.respond_async as string);
  const session = isFollowed ? undefined : request.headerValues('mcp-session-id').find((id) => urlSession.test(id));
  // the client repeats exactly the same call once its user has seen the page
  const key = session === undefined ? newKey() : `mcp-${canonicalDigest([session, named])}`;
  return { era, tasks, urls: session !== undefined, key, isKeyDerived: session !== undefined, seenPages: [] };
}

const newKey = (): string => `mcp-${randomUUID()}`;

/** Clients should return the `requestState` of an earlier response, but may send anything. */
function requireKey(requestState: JsonValue): string {
  if (typeof requestState === 'string' && idempotencyKey.test(requestState)) return requestState;
  throw new RpcError(
    'invalidParams',
    'requestState must have 1 to 255 visible ASCII characters. Send it exactly as the gate gave it, or leave it out.',
  );
}

const within = (value: JsonValue | undefined, ...names: string[]): JsonValue | undefined =>
  names.reduce((found, name) => (isObject(found) ? found[name] : undefined), value);
