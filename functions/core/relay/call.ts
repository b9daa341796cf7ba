import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Pool } from 'undici';
import type { Credential, Credentials } from '../credentials/credentials.ts';
import { type Breaker, openBreaker } from './breaker.ts';
import { CallFailed, describeCallError } from './call-failure.ts';
import { DialError, type DialOptions, dial, type Resolve, resolveBySystem, type Target } from './dial.ts';
import { checkOrigin, type EgressRules, withOwnHost } from './egress.ts';
import { buildHeaders } from './headers.ts';
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
   * @throws ApiError INTENT_EXECUTION_FAILED, SERVICE_UNAVAILABLE or GATEWAY_TIMEOUT; `details.outcome` is `not_sent` where the upstream
   * cannot have seen the call, `unknown` where it may have
   */
  call(execution: Execution): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

export interface RelayOptions {
  rules: EgressRules;
  resolve?: Resolve;
  breaker?: Breaker;
  /** where the credentials of services are; without it no call carries one */
  credentials?: Pick<Credentials, 'find' | 'forget'>;
  trustedCertificate?: string;
}

const connectTimeoutMs = 3_000;
const maxDeadlineMs = 20_000;
const maxAnswerBytes = 1024 * 1024;
const maxHeaderBytes = 16 * 1024;

/** Idle connections are closed by the clock, not by a timer: a timer stands still while a Lambda environment is frozen, upstreams do not. */
const keepAliveMs = 4_000;
const maxOrigins = 100;

export function openRelay({
  rules,
  resolve = resolveBySystem,
  breaker = openBreaker(),
  credentials,
  trustedCertificate,
}: RelayOptions): Relay {
  const pools = new LRUCache<string, Pool>({
    max: maxOrigins,
    ttl: keepAliveMs,
    ttlResolution: 0,
    updateAgeOnGet: true,
    perf: Date,
    dispose: (pool) => void pool.close(),
  });

  const dialOptions: DialOptions = {
    rules,
    resolve,
    connectTimeoutMs,
    ...(trustedCertificate !== undefined && { trustedCertificate }),
  };

  async function connect(target: Target): Promise<Socket> {
    const host = `${target.hostname}:${target.port}`;
    try {
      const socket = await dial(target, dialOptions);
      breaker.record(host, true);
      return socket;
    } catch (error) {
      // A refused address says nothing about whether the host can be reached.
      if (!(error instanceof DialError && error.failure === 'refused_address')) breaker.record(host, false);
      throw error;
    }
  }

  function openPool(origin: string): Pool {
    const pool = new Pool(origin, {
      connect: ({ protocol, hostname, port }, callback) => {
        const target = { protocol, hostname, port: portOf({ protocol, port }) };
        connect(target).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        );
      },
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      maxResponseSize: maxAnswerBytes,
      // The absolute deadline of each call takes the place of these two, which measure idle time.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    pools.set(origin, pool);
    return pool;
  }

  async function findCredential(serviceId: string): Promise<Credential | undefined> {
    try {
      return await credentials?.find(serviceId);
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  async function send(execution: Execution, url: URL, signal: AbortSignal): Promise<Omit<UpstreamAnswer, 'durationMs'>> {
    // Not over http, where anyone on the way could read it.
    const credential = url.protocol === 'https:' ? await findCredential(execution.serviceId) : undefined;
    const pool = pools.get(url.origin) ?? openPool(url.origin);
    const { statusCode, headers, body } = await pool.request({
      method: execution.request.method,
      path: url.pathname + url.search,
      headers: buildHeaders(execution, url, credential),
      body: execution.request.body ?? null,
      signal,
    });
    if (statusCode === 401 || statusCode === 403) credentials?.forget(execution.serviceId);
    const bytes = Buffer.from(await body.arrayBuffer());
    const { 'content-encoding': coding = 'identity', 'retry-after': retryAfter } = headers;
    if (coding !== 'identity') throw new CallFailed('encoded_answer');
    return { status: statusCode, body: bytes, ...(typeof retryAfter === 'string' && { retryAfter }) };
  }

  return {
    async call(execution) {
      const startedMs = performance.now();
      const url = new URL(execution.request.url);
      if (checkOrigin(url.origin, withOwnHost(rules, execution.baseUrl)).length > 0) throw new CallFailed('refused_address');
      const waitSeconds = breaker.secondsToWait(`${url.hostname}:${portOf(url)}`);
      if (waitSeconds > 0) throw new CallFailed('resting', undefined, waitSeconds);
      const deadline = new AbortController();
      const passed = () => deadline.abort(new DOMException('the deadline of the call has passed', 'TimeoutError'));
      const timer = setTimeout(passed, Math.max(0, Math.min(execution.deadlineMs, maxDeadlineMs)));
      try {
        const answer = await Promise.race([send(execution, url, deadline.signal), whenAborted(deadline.signal)]);
        return { ...answer, durationMs: performance.now() - startedMs };
      } catch (error) {
        throw describeCallError(error);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** The client heeds a signal only once it is connected. */
const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const portOf = ({ protocol, port }: { protocol: string; port: string }): number => Number(port || (protocol === 'https:' ? 443 : 80));
