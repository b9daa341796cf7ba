import QuickLRU from 'quick-lru';
import { isObject, type JsonObject, type JsonValue } from '../core/json/json.ts';
import { openBreaker } from '../core/relay/breaker.ts';
import type { UpstreamCall } from '../core/relay/build-request.ts';
import type { ConnectedCall, Relay, UpstreamAnswer } from '../core/relay/call.ts';
import { CallFailed } from '../core/relay/call-failure.ts';
import { retryAfterSeconds } from '../core/relay/retry-after.ts';
import {
  clientInfo,
  findResponse,
  legacyRevision,
  modernRevision,
  newId,
  readMessages,
  type Session,
  toCall,
  untilAnswered,
} from './messages.ts';

/** What a server said to a request. */
export interface Asked {
  answer: UpstreamAnswer;
  response: JsonObject | undefined;
}

/** Sends a call if it may still be made, and again where the relay says that the server has not acted yet. */
export async function send(relay: Pick<Relay, 'connect'>, call: UpstreamCall): Promise<UpstreamAnswer> {
  let outcome: ConnectedCall | UpstreamAnswer = await relay.connect(call);
  while ('send' in outcome) {
    const connected: ConnectedCall = outcome;
    await call.recheck?.().catch((error: unknown) => {
      connected.drop();
      throw error;
    });
    outcome = await connected.send();
  }
  return outcome;
}

/** Sends a request that changes nothing, and reads the response. */
export async function ask(
  relay: Pick<Relay, 'connect'>,
  call: UpstreamCall,
  session: Session | undefined,
  method: string,
  params?: object,
): Promise<Asked> {
  const id = newId();
  const answer = await send(
    relay,
    toCall(call, session, { id, method, ...(params && { params }) }, { until: untilAnswered(id, () => {}) }),
  );
  if (answer.unusable) throw new CallFailed(answer.unusable);
  return { answer, response: findResponse(id, readMessages(answer)) };
}

/** Maximum duration of the question whether a server speaks the modern revision, in milliseconds: some servers never answer what they do not know. */
const discoveryMs = 5_000;

/**
 * Finds out how to speak to servers. Sessions are kept in this process: each account has its own, because servers keep state in them, and another
 * one after each new credential or consent, with which it may be somebody else to the server; what was agreed with a server without sessions is shared.
 */
export function openSessions(relay: Pick<Relay, 'connect'>) {
  const sessions = new QuickLRU<string, Session>({ maxSize: 1_000 });
  // a handshake counts towards no limit of the agent
  const breaker = openBreaker();
  const serverOf = ({ request, service }: UpstreamCall): string => JSON.stringify([request.url, service.service_id]);
  const sessionKeyOf = (call: UpstreamCall): string =>
    JSON.stringify([serverOf(call), call.account, call.service.credential?.version, call.token?.consent]);

  async function open(call: UpstreamCall): Promise<Session> {
    const endMs = performance.now() + call.deadlineMs;
    const left = () => ({ ...call, deadlineMs: endMs - performance.now() });
    const discovered = await discover(call);
    if (discovered) return { revision: modernRevision, server: discovered };
    const handshake = { protocolVersion: legacyRevision, capabilities: {}, clientInfo };
    const { answer, response } = await ask(relay, left(), undefined, 'initialize', handshake).catch(refuseUnclear);
    const { protocolVersion, serverInfo, instructions } = isObject(response?.result) ? response.result : {};
    const { 'mcp-session-id': id } = answer.headers;
    if (typeof protocolVersion !== 'string' || !/^[\w.-]{1,32}$/.test(protocolVersion)) throw describeRefusal(answer);
    if (id !== undefined && !/^[\x21-\x7e]{1,2048}$/.test(String(id))) throw describeRefusal(answer);
    const session = {
      revision: protocolVersion,
      ...(id !== undefined && { id: String(id) }),
      server: describeServer(serverInfo, instructions),
    };
    // a server that cannot be told will say so when the tool is called
    await send(relay, toCall(left(), session, { method: 'notifications/initialized' })).catch((error: unknown) => {
      if (!(error instanceof CallFailed)) throw error;
    });
    return session;
  }

  /** What a server of the modern revision says about itself; undefined if it does not speak that revision. */
  async function discover(call: UpstreamCall): Promise<JsonObject | undefined> {
    const asked = { ...call, deadlineMs: Math.min(discoveryMs, call.deadlineMs / 2) };
    const { response } = await ask(relay, asked, { revision: modernRevision }, 'server/discover').catch((error: unknown) => {
      if (error instanceof CallFailed && error.outcome === 'unknown') return { response: undefined };
      throw error;
    });
    const { supportedVersions, instructions, _meta } = isObject(response?.result) ? response.result : {};
    if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernRevision)) return undefined;
    return describeServer(isObject(_meta) ? _meta['io.modelcontextprotocol/serverInfo'] : undefined, instructions);
  }

  return {
    /**
     * The session with the server of a call, which is opened if there is none.
     * @throws CallFailed whose outcome is `not_sent`, because no tool has been called
     */
    async find({ idempotencyKey: _, ...call }: UpstreamCall): Promise<Session> {
      const holder = sessionKeyOf(call);
      const known = sessions.get(holder) ?? sessions.get(serverOf(call));
      if (known) return known;
      const waitSeconds = breaker.secondsToWait(holder, call);
      if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
      const session = await open(call).catch((error: unknown) => {
        if (error instanceof CallFailed) breaker.record(holder, false);
        else breaker.release(holder, call);
        throw error;
      });
      breaker.record(holder, true);
      sessions.set(session.id === undefined ? serverOf(call) : holder, session);
      return session;
    },
    /** Forgets a session that the server no longer knows. */
    forget(call: UpstreamCall, session: Session): void {
      for (const key of [sessionKeyOf(call), serverOf(call)]) if (sessions.get(key) === session) sessions.delete(key);
    },
  };
}

export type Sessions = ReturnType<typeof openSessions>;

const describeServer = (info: JsonValue = {}, instructions: JsonValue = null): JsonObject => ({
  ...(isObject(info) && info),
  ...(typeof instructions === 'string' && { instructions }),
});

function refuseUnclear(error: unknown): never {
  throw error instanceof CallFailed && error.outcome === 'unknown' ? new CallFailed('unreachable', error) : error;
}

/** Why a server could not be spoken to, which has called no tool. */
export function describeRefusal({ status, headers }: UpstreamAnswer): CallFailed {
  const isTemporary = status === 429 || status >= 500;
  const failure = new CallFailed(isTemporary ? 'unreachable' : 'no_session', undefined, retryAfterSeconds(status, headers));
  failure.details.upstream_status = status;
  return failure;
}
