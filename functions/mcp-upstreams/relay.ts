import { isObject, type JsonObject, type JsonValue } from '../core/json/json.ts';
import type { UpstreamCall } from '../core/relay/build-request.ts';
import type { ConnectedCall, Protocol, Relay, Resend, UpstreamAnswer } from '../core/relay/call.ts';
import { CallFailed } from '../core/relay/call-failure.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { bounded, whenAborted } from '../core/runtime/invocation.ts';
import {
  findResponse,
  headerText,
  isModern,
  isRequest,
  newId,
  type Outgoing,
  readMessages,
  type Session,
  toCall,
  untilAnswered,
} from './messages.ts';
import { inputRequired, toHttpAnswer } from './result.ts';
import { openSessions, type Sessions, send } from './sessions.ts';

/**
 * A relay that also calls the tools of MCP servers (Streamable HTTP of 2026-07-28 and, with a handshake, of earlier revisions). The credential goes
 * with each request.
 */
export const speakMcp: Protocol = (relay) => {
  const sessions = openSessions(relay);
  return {
    ...relay,
    connect: (call) =>
      call.request.mcp === undefined ? relay.connect(call) : new ToolCall(relay, sessions, call, call.request.mcp).connect(),
  };
};

type Tool = NonNullable<UpstreamCall['request']['mcp']>;

/** Maximum duration of a message that follows a call, in milliseconds. */
const afterwardsMs = 1_000;

/** Most pings that are answered during a call: each answer is a request. */
const maxPings = 10;

/** A call of a tool. If the session has ended, it is opened and the call is sent once more. */
class ToolCall {
  readonly #relay: Relay;
  readonly #sessions: Sessions;
  readonly #call: UpstreamCall;
  readonly #tool: Tool;
  readonly #endMs: number;
  readonly #id = newId();
  #session: Session | undefined;
  #isReopened = false;
  #pings = 0;

  constructor(relay: Relay, sessions: Sessions, call: UpstreamCall, tool: Tool) {
    this.#relay = relay;
    this.#sessions = sessions;
    this.#call = call;
    this.#tool = tool;
    this.#endMs = performance.now() + call.deadlineMs;
  }

  /** @throws CallFailed whose outcome is `not_sent` */
  async connect(): Promise<ConnectedCall> {
    const session = await this.#sessions.find({ ...this.#call, deadlineMs: this.#leftMs() });
    this.#session = session;
    const call = { ...this.#call, deadlineMs: this.#leftMs() };
    const args = String(call.request.body);
    const { tool: name } = this.#tool;
    const headers = isModern(session) ? { 'mcp-name': headerText(name), ...this.#mirrored(args) } : {};
    const until = untilAnswered(this.#id, (id) => this.#pings++ < maxPings && void this.#tell({ id, result: {} }));
    const message = { id: this.#id, method: 'tools/call', params: { name }, args };
    return this.#over(await this.#relay.connect(toCall(call, session, message, { headers, until })));
  }

  /** The header fields that repeat arguments (MCP 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters"). */
  #mirrored(args: string): Record<string, string> {
    const { headers = {} } = this.#tool;
    const given: JsonValue = Object.keys(headers).length === 0 ? {} : JSON.parse(args);
    return Object.fromEntries(
      Object.entries(headers).flatMap(([name, pointer]) => {
        const value = at(given, pointer);
        return value === undefined || value === null ? [] : [[`mcp-param-${name}`, headerText(String(value))]];
      }),
    );
  }

  #leftMs(): number {
    return Math.max(0, this.#endMs - performance.now());
  }

  #over(connected: ConnectedCall): ConnectedCall {
    return { send: () => this.#send(connected), drop: () => connected.drop() };
  }

  async #send(connected: ConnectedCall): Promise<UpstreamAnswer | Resend> {
    try {
      const outcome = await connected.send();
      if ('giveUp' in outcome) return { ...this.#over(outcome), giveUp: () => outcome.giveUp() };
      return await this.#read(outcome);
    } catch (error) {
      if (error instanceof CallFailed && error.reason === 'deadline' && this.#session && !isModern(this.#session))
        await this.#tell({ method: 'notifications/cancelled', params: { requestId: this.#id, reason: 'The call took too long.' } });
      throw error;
    }
  }

  async #read(answer: UpstreamAnswer): Promise<UpstreamAnswer | Resend> {
    const messages = readMessages(answer);
    const response = findResponse(this.#id, messages);
    if (this.#isOutdated(answer.status, messages)) return this.#reopen(answer);
    if ([400, 404].includes(answer.status) && isObject(response?.error)) return toHttpAnswer(answer, response);
    if (answer.status < 200 || answer.status > 299) return answer;
    if (answer.unusable) throw new CallFailed(answer.unusable);
    if (response) return toHttpAnswer(answer, response);
    const request = messages.find((message) => isRequest(message) && message.method !== 'ping');
    if (request === undefined) throw new CallFailed('broken_answer');
    await this.#tell({ id: request.id ?? null, error: { code: -32601, message: 'This client does not give input.' } });
    throw inputRequired();
  }

  /**
   * Whether the server has not read the call, because it no longer knows the session (2025-11-25, "Session Management"), or no longer speaks the
   * revision. Some servers answer an unknown session with 400.
   */
  #isOutdated(status: number, [message, ...others]: readonly JsonObject[]): boolean {
    const session = this.#session;
    if (this.#isReopened || session === undefined || others.length > 0) return false;
    const { code, message: words } = isObject(message?.error) ? message.error : {};
    if (isModern(session)) return status === 400 && code === -32022;
    if (status === 404) return session.id !== undefined;
    return status === 400 && message?.id !== this.#id && /session|initiali[sz]/i.test(String(words));
  }

  async #reopen(answer: UpstreamAnswer): Promise<UpstreamAnswer | Resend> {
    this.#isReopened = true;
    if (this.#session) this.#sessions.forget(this.#call, this.#session);
    const connected = await this.connect().catch((error: unknown) => {
      if (!(error instanceof ApiError) || error instanceof CallFailed) throw error;
    });
    // the call is no longer allowed, so that its first outcome stands
    if (!connected) return answer;
    return {
      ...connected,
      giveUp: () => {
        connected.drop();
        return answer;
      },
    };
  }

  /** Tells the server something. The outcome of the call does not depend on it. */
  async #tell(message: Outgoing): Promise<void> {
    const { idempotencyKey: _, ...call } = this.#call;
    const told = () => send(this.#relay, toCall({ ...call, deadlineMs: afterwardsMs }, this.#session, message));
    await bounded(afterwardsMs, (signal) => Promise.race([told(), whenAborted(signal)])).catch(() => {});
  }
}

const at = (value: JsonValue, pointer: string): JsonValue | undefined =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<JsonValue | undefined>((inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);
