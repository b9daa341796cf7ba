import { ApiError } from '../api-error.ts';
import { type Credential, type Credentials, type CredentialValues, credentialsFromEnvironment } from '../credentials/credentials.ts';
import { bounded, currentSignal } from '../invocation.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { CallFailed, type CallFailure, describeCallError } from './call-failure.ts';
import { type CallKey, type CallKeys, callKeysFromEnvironment } from './call-keys.ts';
import type { LostContent } from './content-coding.ts';
import { carriesCredential, withCredentialQuery } from './credential.ts';
import { dial, type Resolve, resolveBySystem } from './dial.ts';
import { checkOrigin, type EgressRules, egressRulesFromEnvironment, targetOf, withOwnHost } from './egress.ts';
import { buildHeaders } from './headers.ts';
import { openHttpClient } from './http-client.ts';
import { openRedactor, type Redactor } from './redact.ts';
import type { UpstreamCall } from './request.ts';

export interface UpstreamAnswer {
  status: number;
  /** as sent */
  retryAfter?: string;
  /** as sent */
  contentType?: string;
  /** as sent */
  location?: string;
  /** without the credential */
  url: string;
  body: Buffer;
  lost?: LostContent;
  /** removes the call's credential from what is passed on */
  redactor: Redactor;
  /** the upstream rejected the credential, and accepted its next values */
  isByNext?: true;
  durationMs: number;
}

/** A connected call; nothing has been sent yet. */
export interface ConnectedCall {
  /**
   * Makes the call, once, without following redirects. It is sent again only if the upstream has not acted: over a new connection if a reused
   * one is lost before anything was sent, or with the credential's next values after a 401 to the others.
   * @param beforeResend - runs before the call is sent again. It throws an ApiError if the agent may not call any more; the outcome then is the lost
   * connection or the 401
   * @throws CallFailed INTENT_EXECUTION_FAILED, SERVICE_UNAVAILABLE or GATEWAY_TIMEOUT; its outcome is `not_sent` if the upstream has not
   * acted, `unknown` if it may have
   */
  send(beforeResend: () => Promise<void>): Promise<UpstreamAnswer>;
  drop(): void;
}

interface Sending {
  signal: AbortSignal;
  beforeResend: () => Promise<void>;
}

export interface Relay {
  /**
   * Connects to an intent's endpoint, with the credential that the call needs. Whoever gets the call sends it, or drops it.
   * @throws CallFailed whose outcome is `not_sent`
   */
  connect(call: UpstreamCall): Promise<ConnectedCall>;
  close(): void;
}

export interface RelayOptions {
  rules: EgressRules;
  resolve?: Resolve;
  breaker?: Breaker;
  credentials: Pick<Credentials, 'read'>;
  /** the keys that sign calls */
  callKeys: Pick<CallKeys, 'signing'>;
  trustedCertificate?: string;
  /** maximum duration of a call in milliseconds; default: 20 seconds */
  maxDeadlineMs?: number;
}

const connectTimeoutMs = 3_000;
const maxAnswerBytes = 1024 * 1024;

export function openRelay({
  rules,
  resolve = resolveBySystem,
  breaker = openBreaker(),
  credentials,
  callKeys,
  trustedCertificate,
  maxDeadlineMs = 20_000,
}: RelayOptions): Relay {
  const client = openHttpClient((target) => dial(target, { rules, resolve, connectTimeoutMs, trustedCertificate }), maxAnswerBytes);

  /** Credentials whose next values were accepted first. */
  const switched = new WeakSet<Credential>();

  async function credentialOf({ service }: UpstreamCall, { origin }: URL): Promise<Credential | undefined> {
    if (service.credential === undefined || !carriesCredential(service, origin)) return undefined;
    try {
      const credential = await credentials.read(service.service_id, service.credential);
      if (credential.origins.includes(origin)) return credential;
      throw new TypeError('the record sends the credential where its secret does not');
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  const signingKey = () =>
    callKeys.signing().catch((error) => {
      throw new CallFailed('no_key', error);
    });

  /** Opens a connection for a call with these values of its credential. */
  async function connectWith(call: UpstreamCall, values: CredentialValues | undefined, key: CallKey, signal: AbortSignal, isNew = false) {
    signal.throwIfAborted();
    const request = values === undefined ? call.request : withCredentialQuery(call.request, values);
    const url = new URL(request.url);
    const { method, body } = request;
    const connected = await client.connect({ method, url, headers: buildHeaders({ ...call, request }, url, values, key), body }, isNew);
    if (signal.aborted) connected.drop();
    signal.throwIfAborted();
    return connected;
  }

  /** The values to call with, and the fallback if they are rejected. */
  async function credentialsOf(call: UpstreamCall, url: URL) {
    const credential = await credentialOf(call, url);
    if (credential?.next === undefined) return { credential, first: credential };
    const { next } = credential;
    return switched.has(credential) ? { credential, first: next, second: credential } : { credential, first: credential, second: next };
  }

  return {
    async connect(call) {
      const startedMs = performance.now();
      const url = new URL(call.request.url);
      if (checkOrigin(url.origin, withOwnHost(rules, call.baseUrl)).length > 0) throw new CallFailed('refused_address');
      const { hostname, port } = targetOf(url);
      const host = `${hostname}:${port}`;
      const waitSeconds = breaker.secondsToWait(host, call);
      if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
      const endMs = startedMs + Math.min(call.deadlineMs, maxDeadlineMs);
      const leftMs = () => Math.max(0, endMs - performance.now());

      /** what a timeout means: the upstream may know of the call from sending until it answers 401 */
      let timeUp: CallFailure = 'late';

      /** Runs a step within the remaining time, and tells the breaker what its failure says about the host. */
      async function run<T>(step: (signal: AbortSignal) => Promise<T>): Promise<T> {
        try {
          return await bounded(leftMs(), (signal) => Promise.race([step(signal), whenAborted(signal)]));
        } catch (error) {
          const failure = describeCallError(error, timeUp);
          const hasAnswered = failure instanceof CallFailed ? failure.hasAnswered : undefined;
          if (hasAnswered === undefined) breaker.release(host, call);
          else breaker.record(host, hasAnswered);
          throw failure;
        }
      }

      const { connected, key, credential, first, second } = await run(async (signal) => {
        const [found, key] = await Promise.all([credentialsOf(call, url), signingKey()]);
        return { ...found, key, connected: await connectWith(call, found.first, key, signal) };
      });
      const connectedMs = performance.now() - startedMs;

      /** Sends the call over another connection; undefined if the agent may no longer call. */
      async function sendAgain(values: typeof first, { signal, beforeResend, isNew = false }: Sending & { isNew?: boolean }) {
        timeUp = 'late';
        const other = await connectWith(call, values, key, signal, isNew);
        try {
          await beforeResend();
        } catch (error) {
          other.drop();
          if (error instanceof ApiError) return undefined;
          throw error;
        }
        timeUp = 'deadline';
        return other.send(signal);
      }

      async function sendConnected(sending: Sending) {
        timeUp = 'deadline';
        try {
          return await connected.send(sending.signal);
        } catch (lost) {
          if (!connected.isReused || !(lost instanceof CallFailed) || lost.reason !== 'lost') throw lost;
          const answer = await sendAgain(first, { ...sending, isNew: true });
          if (answer === undefined) throw lost;
          return answer;
        }
      }

      async function sendAccepted(sending: Sending) {
        const answer = await sendConnected(sending);
        const isByNext = first !== undefined && first === credential?.next;
        if (answer.status !== 401 || credential === undefined || second === undefined) return { answer, isByNext };
        const next = await sendAgain(second, sending);
        if (next === undefined) return { answer, isByNext: false };
        if (next.status === 401) return { answer: next, isByNext: false };
        if (isByNext) switched.delete(credential);
        else switched.add(credential);
        return { answer: next, isByNext: !isByNext };
      }

      const drop = () => {
        connected.drop();
        breaker.release(host, call);
      };

      return {
        drop,
        async send(beforeResend) {
          const sentMs = performance.now();
          if (leftMs() === 0 || currentSignal()?.aborted) {
            drop();
            throw new CallFailed('late');
          }
          const { answer, isByNext } = await run((signal) => sendAccepted({ signal, beforeResend }));
          breaker.record(host, true);
          const { 'retry-after': retryAfter, 'content-type': contentType, location } = answer.headers;
          return {
            status: answer.status,
            url: call.request.url,
            body: answer.body,
            ...(answer.lost !== undefined && { lost: answer.lost }),
            ...(retryAfter !== undefined && { retryAfter }),
            ...(contentType !== undefined && { contentType }),
            ...(location !== undefined && { location }),
            redactor: openRedactor(credential),
            ...(isByNext && { isByNext }),
            durationMs: connectedMs + performance.now() - sentMs,
          };
        },
      };
    },
    close: client.close,
  };
}

/** The client observes a signal only once connected. The answer received so far is reported first. */
const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => setImmediate(reject, signal.reason), { once: true }));

/** What calls the endpoints of intents in a deployment. */
export const relayFromEnvironment = (more: Pick<RelayOptions, 'maxDeadlineMs'> = {}): Relay =>
  openRelay({
    rules: egressRulesFromEnvironment(),
    credentials: credentialsFromEnvironment(),
    callKeys: callKeysFromEnvironment(),
    ...more,
  });
