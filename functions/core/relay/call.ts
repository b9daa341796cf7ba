import type { IncomingHttpHeaders } from 'node:http';
import { type Credential, type Credentials, type CredentialValues, credentialsFromEnvironment } from '../credentials/credentials.ts';
import { bounded, currentSignal, whenAborted } from '../runtime/invocation.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import type { UpstreamCall } from './build-request.ts';
import { CallFailed, describeCallError } from './call-failure.ts';
import type { UnusableBody } from './content-coding.ts';
import { carriesCredential, withCredential } from './credential.ts';
import { dial, type Resolve, resolveBySystem } from './dial.ts';
import { checkOrigin, type EgressRules, egressRulesFromEnvironment, targetOf, withOwnHost } from './egress.ts';
import { type AddFields, buildHeaders, type CallSigner } from './headers.ts';
import { type ConnectedRequest, type HttpAnswer, openHttpClient } from './http-client.ts';
import { openRedactor, type Redactor } from './redact.ts';

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

/** Makes a relay also call endpoints that speak another protocol over HTTP. */
export type Protocol = (relay: Relay) => Relay;

export interface RelayOptions {
  rules: EgressRules;
  resolve?: Resolve;
  breaker?: Breaker;
  credentials: Pick<Credentials, 'read'>;
  signers?: readonly CallSigner[];
  trustedCertificate?: string;
  /** maximum duration of a call in milliseconds; default: 20 seconds */
  maxDeadlineMs?: number;
  /** maximum size of an answer's body; default: 1 MB */
  maxAnswerBytes?: number;
}

const connectTimeoutMs = 3_000;

export function openRelay({
  rules,
  resolve = resolveBySystem,
  breaker = openBreaker(),
  credentials,
  signers = [],
  trustedCertificate,
  maxDeadlineMs = 20_000,
  maxAnswerBytes = 1024 * 1024,
}: RelayOptions): Relay {
  const client = openHttpClient((target) => dial(target, { rules, resolve, connectTimeoutMs, trustedCertificate }), maxAnswerBytes);
  const switched = new WeakSet<Credential>();

  async function connect(call: UpstreamCall): Promise<ConnectedCall> {
    const endMs = performance.now() + Math.min(call.deadlineMs, maxDeadlineMs);
    const url = new URL(call.request.url);
    if (checkOrigin(url.origin, withOwnHost(rules, call.baseUrl)).length > 0) throw new CallFailed('refused_address');
    const { hostname, port } = targetOf(url);
    const host = `${hostname}:${port}`;
    const waitSeconds = breaker.secondsToWait(host, call);
    if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
    return new Call({ call, host, endMs, client, breaker, switched }).connect(async () => {
      const [values, added] = await Promise.all([valuesOf(call, url), Promise.all(signers.map(read))]);
      return { ...values, added };
    });
  }

  /** The credential values to try first, and the fallback for a 401. */
  async function valuesOf(call: UpstreamCall, url: URL): Promise<Omit<Carried, 'added'>> {
    const credential = await credentialOf(call, url);
    if (credential?.next === undefined) return { credential, first: credential };
    const { next } = credential;
    return switched.has(credential) ? { credential, first: next, second: credential } : { credential, first: credential, second: next };
  }

  async function credentialOf({ service, token }: UpstreamCall, { origin }: URL): Promise<Credential | undefined> {
    if (service.credential === undefined || !carriesCredential(service, origin)) return undefined;
    try {
      if (service.credential.oauth && token) return token;
      if (service.credential.oauth) throw new TypeError('no feature obtains tokens');
      const credential = await credentials.read(service.service_id, service.credential);
      if (credential.origins.includes(origin)) return credential;
      throw new TypeError('the record of the service allows an origin for the credential that the secret does not');
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  return { connect, close: client.close };
}

const read = (signer: CallSigner): Promise<AddFields> =>
  signer().catch((error) => {
    throw new CallFailed('no_key', error);
  });

interface Setting {
  call: UpstreamCall;
  host: string;
  /** when its time is up, on the clock of `performance` */
  endMs: number;
  client: ReturnType<typeof openHttpClient>;
  breaker: Breaker;
  /** credentials whose next values have been accepted, so that they are tried first */
  switched: WeakSet<Credential>;
}

/** What a call carries besides its request. */
interface Carried {
  credential: Credential | undefined;
  /** the values of the credential to try first */
  first: CredentialValues | undefined;
  /** the values to try after a 401 */
  second?: CredentialValues;
  added: readonly AddFields[];
}

/** A call, which is connected and then sent. It is sent again only if the upstream has not acted: after a reused connection broke, and after a 401. */
class Call {
  readonly #in: Setting;
  #carried: Carried = { credential: undefined, first: undefined, added: [] };
  /** once it is `sent`, the upstream may have received the call */
  #phase: 'connecting' | 'sent' = 'connecting';
  #connectMs = 0;
  #sentMs: number | undefined;

  constructor(setting: Setting) {
    this.#in = setting;
  }

  async connect(readCarried: () => Promise<Carried>): Promise<ConnectedCall> {
    const startedMs = performance.now();
    const request = await this.#run(async (signal) => {
      this.#carried = await readCarried();
      return this.#dial(this.#carried.first, signal);
    });
    this.#connectMs = performance.now() - startedMs;
    return this.#over(request, this.#carried.first);
  }

  /** The call over this connection, with these credential values. */
  #over(request: ConnectedRequest, values: CredentialValues | undefined): ConnectedCall {
    return { send: () => this.#send(request, values), drop: () => this.#drop(request) };
  }

  async #send(request: ConnectedRequest, values: CredentialValues | undefined): Promise<UpstreamAnswer | Resend> {
    if (this.#leftMs() === 0 || currentSignal()?.aborted) {
      this.#drop(request);
      throw new CallFailed('late');
    }
    const { credential, first, second } = this.#carried;
    this.#sentMs ??= performance.now();
    return this.#run(async (signal) => {
      this.#phase = 'sent';
      const answer = await request.send(signal).catch((error: unknown) => {
        if (values === first && request.isReused && error instanceof CallFailed && error.reason === 'lost') return error;
        throw error;
      });
      if (answer instanceof CallFailed) return this.#resend(first, { signal, isNew: true, instead: answer });
      if (answer.status === 401) this.#phase = 'connecting';
      const other = answer.status === 401 && values === first ? (second ?? (await credential?.renew?.())) : undefined;
      if (other !== undefined) return this.#resend(other, { signal, instead: answer });
      // later calls try accepted values first
      if (answer.status !== 401 && values === second && credential)
        this.#in.switched[values === credential.next ? 'add' : 'delete'](credential);
      return this.#accept(answer, values);
    });
  }

  /** Connects the call again. @param instead - the outcome if it is not sent again */
  async #resend(
    values: CredentialValues | undefined,
    { signal, isNew = false, instead }: { signal: AbortSignal; isNew?: boolean; instead: HttpAnswer | CallFailed },
  ): Promise<Resend> {
    this.#phase = 'connecting';
    const request = await this.#dial(values, signal, isNew);
    return {
      ...this.#over(request, values),
      giveUp: () => {
        this.#drop(request);
        if (instead instanceof CallFailed) throw instead;
        return this.#accept(instead, this.#carried.first);
      },
    };
  }

  #accept(answer: HttpAnswer, values: CredentialValues | undefined): UpstreamAnswer {
    const { credential } = this.#carried;
    const { call, host, breaker } = this.#in;
    breaker.record(host, true);
    const isByNext = answer.status !== 401 && values !== undefined && values === credential?.next;
    return {
      ...answer,
      url: call.request.url,
      redactor: openRedactor(credential),
      ...(isByNext && { isByNext }),
      durationMs: this.#connectMs + performance.now() - (this.#sentMs ?? performance.now()),
    };
  }

  #drop(request: ConnectedRequest): void {
    request.drop();
    this.#in.breaker.release(this.#in.host, this.#in.call);
  }

  #leftMs(): number {
    return Math.max(0, this.#in.endMs - performance.now());
  }

  /** Opens a connection for the call with these credential values. */
  async #dial(values: CredentialValues | undefined, signal: AbortSignal, isNew = false): Promise<ConnectedRequest> {
    signal.throwIfAborted();
    const { call, client } = this.#in;
    const { credential, added } = this.#carried;
    const request = values && credential ? withCredential(call.request, values, credential) : call.request;
    const url = new URL(request.url);
    const { method, body, until } = request;
    const headers = buildHeaders({ ...call, request }, url, values, added);
    const connected = await client.connect({ method, url, headers, body, until }, isNew);
    if (signal.aborted) connected.drop();
    signal.throwIfAborted();
    return connected;
  }

  /** Runs a step within the remaining time, and reports a failure to the circuit breaker. */
  async #run<T>(step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { call, host, breaker } = this.#in;
    try {
      return await bounded(this.#leftMs(), (signal) => Promise.race([step(signal), whenAborted(signal)]));
    } catch (error) {
      const failure = describeCallError(error, this.#phase === 'sent' ? 'deadline' : 'late');
      const hasAnswered = failure instanceof CallFailed ? failure.hasAnswered : undefined;
      if (hasAnswered === undefined) breaker.release(host, call);
      else breaker.record(host, hasAnswered);
      throw failure;
    }
  }
}

/** The relay of a deployment. */
export const relayFromEnvironment = (
  more: Pick<RelayOptions, 'signers' | 'maxDeadlineMs' | 'maxAnswerBytes'>,
  protocols: readonly Protocol[] = [],
): Relay => {
  const given = { rules: egressRulesFromEnvironment(), credentials: credentialsFromEnvironment() };
  return protocols.reduce((relay, speak) => speak(relay), openRelay({ ...given, ...more }));
};
