import { randomUUID } from 'node:crypto';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import { idempotencyKey } from '../execution/idempotency-key.ts';
import type { ApiRequest } from '../http/request.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { RpcError } from './json-rpc.ts';
import { capabilitiesKey, type Era } from './revision.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** How the client of a tool call can wait for one that is made later. */
export interface Abilities {
  era: Era;
  /** the client takes a task in place of a result (2026-07-28), or has asked for one (2025-11-25) */
  tasks: boolean;
  /** the client opens pages for its person */
  urls: boolean;
  /** names the call if it is made later and its caller has not named it; the same when the client sends it again */
  key: string;
  /** what the person said to a page that an earlier answer to this call named; undefined if there was none */
  answered: JsonValue | undefined;
}

/** Whether a task is what was asked for: then nobody waits for the call. */
export const isTaskOfLegacy = ({ era, tasks }: Abilities): boolean => era === 'legacy' && tasks;

/** A legacy client declares its capabilities once. The server keeps nothing, so the id of the session tells them again. */
const urlSession = /^urls-[0-9a-f-]{36}$/;

/** The header that starts a session with a legacy client that opens pages; others need none. */
export const sessionHeaders = ({ capabilities }: JsonObject): Record<string, string> =>
  isObject(within(capabilities, 'elicitation', 'url')) ? { 'Mcp-Session-Id': `urls-${randomUUID()}` } : {};

/** @throws RpcError if `requestState` cannot be the key of a call */
export function readAbilities(era: Era, params: JsonObject, request: ApiRequest): Abilities {
  if (era === 'modern') {
    const declared = within(params._meta, capabilitiesKey);
    const { requestState } = params;
    return {
      era,
      tasks: isObject(within(declared, 'extensions', tasksExtension)),
      urls: isObject(within(declared, 'elicitation', 'url')),
      key: requestState === undefined ? newKey() : requireKey(requestState),
      answered: within(params.inputResponses, 'approval', 'action'),
    };
  }
  const session = request.headerValues('mcp-session-id').find((id) => urlSession.test(id));
  // the client sends the very same call again after its person has seen the page
  const { pat: _, ...named } = isObject(params.arguments) ? params.arguments : {};
  const key = session === undefined ? newKey() : `mcp-${canonicalDigest([session, named])}`;
  return { era, tasks: isObject(params.task), urls: session !== undefined, key, answered: undefined };
}

const newKey = (): string => `mcp-${randomUUID()}`;

/** Clients send back what an earlier answer had, or anything. */
function requireKey(requestState: JsonValue): string {
  if (typeof requestState === 'string' && idempotencyKey.test(requestState)) return requestState;
  throw new RpcError(
    'invalidParams',
    'requestState must have 1 to 255 visible ASCII characters. Send it exactly as the gate gave it, or leave it out.',
    { status: 200 },
  );
}

const within = (value: JsonValue | undefined, ...names: string[]): JsonValue | undefined =>
  names.reduce((found, name) => (isObject(found) ? found[name] : undefined), value);
