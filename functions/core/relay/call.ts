import type { Credential, Credentials } from '../credentials/credentials.ts';
import { bounded } from '../invocation.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { CallFailed, type CallFailure, describeCallError } from './call-failure.ts';
import { type DialOptions, dial, type Resolve, resolveBySystem, type Target, targetOf } from './dial.ts';
import { checkOrigin, type EgressRules, withOwnHost } from './egress.ts';
import { buildHeaders } from './headers.ts';
import { openHttpClient } from './http-client.ts';
import { openInFlight } from './in-flight.ts';
import type { Execution } from './request.ts';

/** What an upstream answered. */
export interface UpstreamAnswer {
  status: number;
  /** the `Retry-After` field as it was sent */
  retryAfter?: string;
  body: Buffer;
  durationMs: number;
}

export interface Relay {
  /**
   * Calls an intent's endpoint once: no redirect is followed, nothing is sent twice.
   * @throws ApiError INTENT_EXECUTION_FAILED, SERVICE_UNAVAILABLE or GATEWAY_TIMEOUT; `details.outcome` is `not_sent` if the upstream
   * cannot have seen the call, `unknown` if it may have
   */
  call(execution: Execution): Promise<UpstreamAnswer>;
  close(): void;
}

export interface RelayOptions {
  rules: EgressRules;
  resolve?: Resolve;
  breaker?: Breaker;
  /** the credentials of services that have one */
  credentials: Pick<Credentials, 'read' | 'forget'>;
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

  async function credentialOf({ service_id, credential }: Execution['service']): Promise<Credential | undefined> {
    if (!credential) return undefined;
    try {
      return await credentials.read(service_id);
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  async function send(execution: Execution, url: URL, signal: AbortSignal): Promise<Omit<UpstreamAnswer, 'durationMs'>> {
    // Not over http, which anyone on the way could read.
    const credential = url.protocol === 'https:' ? await credentialOf(execution.service) : undefined;
    const { method, body } = execution.request;
    const answer = await client.send({ method, url, headers: buildHeaders(execution, url, credential), body, signal });
    if (answer.status === 401 || answer.status === 403) credentials.forget(execution.service.service_id);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.status, body: answer.body, ...(retryAfter !== undefined && { retryAfter }) };
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

/** The client observes a signal only once it is connected. */
const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const hostOf = ({ hostname, port }: Target): string => `${hostname}:${port}`;
