import { randomInt } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, parseJson } from '../core/json/json.ts';
import type { UpstreamCall } from '../core/relay/build-request.ts';
import type { HttpAnswer, Until } from '../core/relay/http-client.ts';
import { essenceOf } from '../core/relay/media-type.ts';
import { openEvents } from './events.ts';

/** The revision of MCP whose requests are self-contained. */
export const modernRevision = '2026-07-28';

/** The newest revision with a handshake. */
export const legacyRevision = '2025-11-25';

export const clientInfo = { name: 'intent-gate', version: '1' };

/** How a server is spoken to. */
export interface Session {
  revision: string;
  /** of servers that keep sessions */
  id?: string;
  /** what the server says about itself */
  server?: JsonObject;
}

export const isModern = ({ revision }: Session): boolean => revision === modernRevision;

/** An id for a request. Random, because some servers confuse the requests of clients that share nothing but their address. */
export const newId = (): number => randomInt(2 ** 47);

export interface Outgoing {
  /** absent in notifications */
  id?: JsonValue;
  method?: string;
  params?: object;
  /** JSON text of a tool's arguments, with every digit */
  args?: string;
  /** of an answer to the server */
  result?: object;
  error?: object;
}

/**
 * The call that carries a message to the server of a call.
 * @param session - undefined during the handshake
 * @param headers - further header fields
 */
export function toCall(
  call: UpstreamCall,
  session: Session | undefined,
  { params = {}, args, ...message }: Outgoing,
  { headers = {}, until }: { headers?: Record<string, string>; until?: Until } = {},
): UpstreamCall {
  const isSelfContained = session !== undefined && isModern(session);
  const meta = isSelfContained && {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': modernRevision,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const text = JSON.stringify({ jsonrpc: '2.0', ...message, ...(message.method && { params: { ...params, ...meta } }) });
  return {
    ...call,
    request: {
      method: 'POST',
      url: call.request.url,
      contentType: 'application/json',
      accept: 'application/json, text/event-stream',
      // params are the last member, and those of a tool call are not empty
      body: args === undefined ? text : `${text.slice(0, -2)},"arguments":${args}}}`,
      headers: {
        ...call.request.headers,
        ...headers,
        ...(session && { 'mcp-protocol-version': session.revision }),
        ...(session?.id !== undefined && { 'mcp-session-id': session.id }),
        ...(isSelfContained && message.method && { 'mcp-method': message.method }),
      },
      ...(until && { until }),
    },
  };
}

/** A value of a header field: anything but visible ASCII is encoded (MCP 2026-07-28, Streamable HTTP, "Value Encoding"). */
export const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Maximum nesting depth of a message: three levels more than an answer has. */
const maxDepth = 203;

const isStream = ({ headers }: Pick<HttpAnswer, 'headers'>): boolean => essenceOf(headers['content-type']) === 'text/event-stream';

/** Messages in a text; what is not unambiguous JSON is left out. Servers of 2025-03-26 may send several in a list. */
function parseMessages(text: string): JsonObject[] {
  try {
    return [parseJson(text, { isExact: true, maxDepth })].flat().filter(isObject);
  } catch {
    return [];
  }
}

export const readMessages = (answer: Pick<HttpAnswer, 'headers' | 'body'>): JsonObject[] =>
  // a last event may lack its empty line
  (isStream(answer) ? openEvents()(Buffer.concat([answer.body, Buffer.from('\n\n')])) : [answer.body.toString()]).flatMap(parseMessages);

export const isRequest = ({ method, id }: JsonObject): boolean => typeof method === 'string' && id !== undefined;

/** Whether a message responds to the request with this id. */
export const respondsTo = (id: number, message: JsonObject): boolean => message.method === undefined && String(message.id) === String(id);

/** The response to a request. An error without an id, which alone is an answer, responds to it as well. */
export const findResponse = (id: number, messages: readonly JsonObject[]): JsonObject | undefined =>
  messages.find((message) => respondsTo(id, message)) ??
  messages.find(({ id: other, error }) => messages.length === 1 && (other === undefined || other === null) && isObject(error));

/**
 * Reads a stream until the response to a request, or until the server asks for anything other than a ping.
 * @param onPing - answers a ping
 */
export const untilAnswered =
  (id: number, onPing: (id: JsonValue) => void): Until =>
  (headers) => {
    if (!isStream({ headers })) return undefined;
    const read = openEvents();
    return (piece) =>
      read(piece)
        .flatMap(parseMessages)
        .some((message) => {
          if (!isRequest(message)) return respondsTo(id, message);
          if (message.method === 'ping') onPing(message.id ?? null);
          return message.method !== 'ping';
        });
  };
