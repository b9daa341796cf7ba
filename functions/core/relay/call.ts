import { ApiError } from '../api-error.ts';
import type { Credential, Credentials, CredentialValues } from '../credentials/credentials.ts';
import { bounded } from '../invocation.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { CallFailed, type CallFailure, describeCallError } from './call-failure.ts';
import { carriesCredential, withCredentialQuery } from './credential.ts';
import { type DialOptions, dial, type Resolve, resolveBySystem, type Target, targetOf } from './dial.ts';
import { checkOrigin, type EgressRules, withOwnHost } from './egress.ts';
import { buildHeaders } from './headers.ts';
import { type HttpAnswer, openHttpClient } from './http-client.ts';
import { openInFlight } from './in-flight.ts';
import type { Execution } from './request.ts';

/** What an upstream answered. */
export interface UpstreamAnswer {
  status: number;
  /** the `Retry-After` field as it was sent */
  retryAfter?: string;
  body: Buffer;
  /** the upstream did not accept the credential any more, but the one that was to come next */
  isByNext?: true;
  durationMs: number;
}

export interface Relay {
  /**
   * Calls an intent's endpoint once: no redirect is followed, nothing is sent twice, but that a service whose credential has values to come
   * next is called with these if it answers 401 to the others, which means that it has not acted.
   * @throws ApiError INTENT_EXECUTION_FAILED, SERVICE_UNAVAILABLE, GATEWAY_TIMEOUT, or what `confirm` throws; `details.outcome` is `not_sent`
   * if the upstream cannot have seen the call, `unknown` if it may have
   */
  call(execution: Execution): Promise<UpstreamAnswer>;
  close(): void;
}

export interface RelayOptions {
  rules: EgressRules;
  resolve?: Resolve;
  breaker?: Breaker;
  /** the credentials of services that have one */
  credentials: Pick<Credentials, 'read'>;
  trustedCertificate?: string;
}

const connectTimeoutMs = 3_000;
const maxDeadlineMs = 20_000;
const maxAnswerBytes = 1024 * 1024;

/** Which failures say that the host answers, and which that it does not; the others say neither. */
const answers: Partial<Record<CallFailure, boolean>> = {
  no_address: false,
  unreachable: false,
  tls_failed: false,
  deadline: false,
  broken_answer: true,
  encoded_answer: true,
  answer_too_large: true,
};

export function openRelay({
  rules,
  resolve = resolveBySystem,
  breaker = openBreaker(),
  credentials,
  trustedCertificate,
}: RelayOptions): Relay {
  const dialOptions: DialOptions = {
    rules,
    resolve,
    connectTimeoutMs,
    ...(trustedCertificate !== undefined && { trustedCertificate }),
  };

  const inFlight = openInFlight();
  const client = openHttpClient((target) => dial(target, dialOptions), maxAnswerBytes);

  /** Credentials of which the upstream has taken the next values before the others. */
  const switched = new WeakSet<Credential>();

  async function credentialOf({ service }: Execution, { origin }: URL): Promise<Credential | undefined> {
    if (service.credential === undefined || !carriesCredential(service, origin)) return undefined;
    try {
      const credential = await credentials.read(service.service_id, service.credential);
      if ((credential.origins ?? [origin]).includes(origin)) return credential;
      throw new TypeError('the record sends the credential where its secret does not');
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  async function sendWith(execution: Execution, values: CredentialValues | undefined, signal: AbortSignal): Promise<HttpAnswer> {
    const request = values === undefined ? execution.request : withCredentialQuery(execution.request, values);
    const url = new URL(request.url);
    const { method, body } = request;
    const confirm = () => execution.confirm().catch(notSent);
    return client.send({ method, url, headers: buildHeaders({ ...execution, request }, url, values), body, signal, confirm });
  }

  async function sendAccepted(execution: Execution, credential: Credential | undefined, signal: AbortSignal) {
    if (credential?.next === undefined) return { answer: await sendWith(execution, credential, signal) };
    const { next } = credential;
    const [first, second] = switched.has(credential) ? [next, credential] : [credential, next];
    const refused = await sendWith(execution, first, signal);
    if (refused.status !== 401) return { answer: refused, ...(first === next && { isByNext: true as const }) };
    const answer = await sendWith(execution, second, signal);
    if (answer.status === 401) return { answer };
    if (second === next) switched.add(credential);
    else switched.delete(credential);
    return { answer, ...(second === next && { isByNext: true as const }) };
  }

  async function send(execution: Execution, url: URL, signal: AbortSignal): Promise<Omit<UpstreamAnswer, 'durationMs'>> {
    const { answer, ...by } = await sendAccepted(execution, await credentialOf(execution, url), signal);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.status, body: answer.body, ...(retryAfter !== undefined && { retryAfter }), ...by };
  }

  return {
    async call(execution) {
      const startedMs = performance.now();
      const url = new URL(execution.request.url);
      if (checkOrigin(url.origin, withOwnHost(rules, execution.baseUrl)).length > 0) throw new CallFailed('refused_address');
      const host = hostOf(targetOf(url));
      const waitSeconds = breaker.secondsToWait(host);
      if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
      const leave = inFlight.enter(host, execution.agentId);
      if (!leave) throw new CallFailed('crowded', undefined, 1);
      const deadlineMs = Math.max(0, Math.min(execution.deadlineMs, maxDeadlineMs));
      try {
        const answer = await bounded(deadlineMs, (signal) => Promise.race([send(execution, url, signal), whenAborted(signal)]));
        breaker.record(host, true);
        return { ...answer, durationMs: performance.now() - startedMs };
      } catch (error) {
        const failure = describeCallError(error);
        const hasAnswered = failure instanceof CallFailed ? answers[failure.reason] : undefined;
        if (hasAnswered !== undefined) breaker.record(host, hasAnswered);
        throw failure;
      } finally {
        leave();
      }
    },
    close: client.close,
  };
}

const notSent = (error: unknown): never => {
  throw error instanceof ApiError ? error.withDetails({ outcome: 'not_sent' }) : error;
};

/** The client observes a signal only once it is connected. */
const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const hostOf = ({ hostname, port }: Target): string => `${hostname}:${port}`;
