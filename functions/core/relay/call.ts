import type { IncomingHttpHeaders } from 'node:http';
import { type CallKey, type CallKeys, callKeysFromEnvironment } from '../../web-bot-auth/call-keys.ts';
import { type Credential, type Credentials, type CredentialValues, credentialsFromEnvironment } from '../credentials/credentials.ts';
import { bounded, currentSignal } from '../runtime/invocation.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { CallFailed, type CallFailure, describeCallError } from './call-failure.ts';
import type { UnusableBody } from './content-coding.ts';
import { carriesCredential, withCredentialQuery } from './credential.ts';
import { dial, type Resolve, resolveBySystem } from './dial.ts';
import { checkOrigin, type EgressRules, egressRulesFromEnvironment, targetOf, withOwnHost } from './egress.ts';
import { buildHeaders } from './headers.ts';
import { type ConnectedRequest, type HttpAnswer, openHttpClient } from './http-client.ts';
import { openRedactor, type Redactor } from './redact.ts';
import type { UpstreamCall } from './request.ts';

export interface UpstreamAnswer {
  status: number;
  /** as sent, with one character per byte */
  headers: IncomingHttpHeaders;
  /** without the credential */
  url: string;
  body: Buffer;
  unusable?: UnusableBody;
  /** removes the call's credential from the answer */
  redactor: Redactor;
  /** the call was made with the credential's next values, and not rejected with 401 */
  isByNext?: true;
  durationMs: number;
}

/** A connected call. The caller must either send or drop it. */
export interface ConnectedCall {
  /**
   * Sends the call, without following redirects.
   * @returns the answer, or a replacement call if the upstream has not acted: over a new connection if a reused one broke before anything was sent,
   * or with the credential's other values after a 401
   * @throws CallFailed INTENT_EXECUTION_FAILED, SERVICE_UNAVAILABLE or GATEWAY_TIMEOUT; its outcome is `not_sent` if the upstream has not
   * acted, `unknown` if it may have
   */
  send(): Promise<UpstreamAnswer | Resend>;
  drop(): void;
}

/** A replacement for a call on which the upstream has not acted. */
export interface Resend extends ConnectedCall {
  /**
   * Drops the replacement, because the call is no longer allowed.
   * @returns the 401 to the first call
   * @throws CallFailed `lost` if the first connection broke
   */
  giveUp(): UpstreamAnswer;
}

export interface Relay {
  /**
   * Connects to an intent's endpoint and prepares the call with its credential. Sends nothing yet.
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

  /** Credentials whose next values have been accepted, so that they are tried first. */
  const switched = new WeakSet<Credential>();

  async function connect(call: UpstreamCall): Promise<ConnectedCall> {
    const startedMs = performance.now();
    const url = new URL(call.request.url);
    if (checkOrigin(url.origin, withOwnHost(rules, call.baseUrl)).length > 0) throw new CallFailed('refused_address');
    const { hostname, port } = targetOf(url);
    const host = `${hostname}:${port}`;
    const waitSeconds = breaker.secondsToWait(host, call);
    if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
    const endMs = startedMs + Math.min(call.deadlineMs, maxDeadlineMs);
    const leftMs = () => Math.max(0, endMs - performance.now());

    /** what a timeout means now: `deadline` only while the upstream may have received the call */
    let timeUp: CallFailure = 'late';
    let sentMs: number | undefined;

    const { request, key, credential, first, second } = await run(async (signal) => {
      const [found, key] = await Promise.all([credentialsOf(call, url), signingKey()]);
      return { ...found, key, request: await connectWith(call, found.first, key, signal) };
    });
    const connectedMs = performance.now() - startedMs;
    return over(request, first);

    /** The call over this connection, with these credential values. */
    function over(request: ConnectedRequest, values: CredentialValues | undefined): ConnectedCall {
      return { send: () => send(request, values), drop: () => drop(request) };
    }

    async function send(request: ConnectedRequest, values: CredentialValues | undefined): Promise<UpstreamAnswer | Resend> {
      if (leftMs() === 0 || currentSignal()?.aborted) {
        drop(request);
        throw new CallFailed('late');
      }
      sentMs ??= performance.now();
      return run(async (signal) => {
        timeUp = 'deadline';
        const answer = await request.send(signal).catch((error: unknown) => {
          if (values === first && request.isReused && error instanceof CallFailed && error.reason === 'lost') return error;
          throw error;
        });
        if (answer instanceof CallFailed) return resend(first, { signal, isNew: true, instead: answer });
        if (answer.status === 401 && values === first && second !== undefined) return resend(second, { signal, instead: answer });
        if (answer.status !== 401 && values === second) preferValues(credential, second);
        return accept(answer, values);
      });
    }

    /** Connects the call again. @param instead - the outcome if it is not sent again */
    async function resend(
      values: CredentialValues | undefined,
      { signal, isNew = false, instead }: { signal: AbortSignal; isNew?: boolean; instead: HttpAnswer | CallFailed },
    ): Promise<Resend> {
      timeUp = 'late';
      const request = await connectWith(call, values, key, signal, isNew);
      return {
        ...over(request, values),
        giveUp() {
          drop(request);
          if (instead instanceof CallFailed) throw instead;
          return accept(instead, first);
        },
      };
    }

    function accept(answer: HttpAnswer, values: CredentialValues | undefined): UpstreamAnswer {
      breaker.record(host, true);
      const isByNext = answer.status !== 401 && values !== undefined && values === credential?.next;
      return {
        ...answer,
        url: call.request.url,
        redactor: openRedactor(credential),
        ...(isByNext && { isByNext }),
        durationMs: connectedMs + performance.now() - (sentMs ?? performance.now()),
      };
    }

    function drop(request: ConnectedRequest): void {
      request.drop();
      breaker.release(host, call);
    }

    /** Runs a step within the remaining time, and reports a failure to the circuit breaker. */
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
  }

  /** The credential values to try first, and the fallback for a 401. */
  async function credentialsOf(call: UpstreamCall, url: URL) {
    const credential = await credentialOf(call, url);
    if (credential?.next === undefined) return { credential, first: credential };
    const { next } = credential;
    return switched.has(credential) ? { credential, first: next, second: credential } : { credential, first: credential, second: next };
  }

  async function credentialOf({ service }: UpstreamCall, { origin }: URL): Promise<Credential | undefined> {
    if (service.credential === undefined || !carriesCredential(service, origin)) return undefined;
    try {
      const credential = await credentials.read(service.service_id, service.credential);
      if (credential.origins.includes(origin)) return credential;
      throw new TypeError('the record of the service allows an origin for the credential that the secret does not');
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  /** Makes later calls try these accepted values first. */
  function preferValues(credential: Credential | undefined, values: CredentialValues | undefined): void {
    if (credential === undefined || values === undefined) return;
    if (values === credential.next) switched.add(credential);
    else switched.delete(credential);
  }

  const signingKey = () =>
    callKeys.signing().catch((error) => {
      throw new CallFailed('no_key', error);
    });

  /** Opens a connection for a call with these credential values. */
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

  return { connect, close: client.close };
}

/** Needed because the client observes a signal only once connected. Rejects late, so that an answer received so far wins. */
const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => setImmediate(reject, signal.reason), { once: true }));

/** The relay of a deployment. */
export const relayFromEnvironment = (more: Pick<RelayOptions, 'maxDeadlineMs'> = {}): Relay =>
  openRelay({
    rules: egressRulesFromEnvironment(),
    credentials: credentialsFromEnvironment(),
    callKeys: callKeysFromEnvironment(),
    ...more,
  });
