import { type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { toProxyEvent } from '../../bin/local/gateway-event.ts';
import type { FunctionDefinition } from '../../bin/local/template.ts';

/** Starts a script of this folder in a thread, whose first message is the address of its server. */
export async function startThread(script: string, workerData?: object) {
  const worker = new Worker(new URL(script, import.meta.url), { execArgv: [], workerData });
  const [url] = await once(worker, 'message');
  return {
    url: String(url),
    /** Returns the work since the last call. */
    async ask<T>(): Promise<T> {
      const answer = once(worker, 'message');
      worker.postMessage('report');
      return (await answer)[0];
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

/** Runs a script of this folder in a process, so that its memory is measured separately. @returns its report, if any */
export async function runProcess<T>(script: string, task: object, options: ForkOptions = {}): Promise<T> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), { execArgv: ['--expose-gc'], ...options });
  let report: unknown;
  child.once('message', (message) => {
    report = message;
  });
  child.send(task);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${script} ended with ${code}`);
  return report as T;
}

export type Bundled = Pick<FunctionDefinition, 'folder' | 'environment'>;

export interface HostTask {
  /** an event, or a list of events that take turns */
  event: unknown;
  warmUp: number;
  runs: number;
  mayRefuse?: true;
}

export interface HostReport {
  status: number;
  endedMs: number;
  latenciesMs: number[];
  /** CPU time per run, of all threads */
  processorMs: number;
  loaded: Memory;
  after: Memory & { peak: number };
}

/** Bytes of resident memory, and of the used heap. */
export interface Memory {
  resident: number;
  heap: number;
}

/** Runs a function's bundle in a process, without API Gateway. */
export const runAlone = ({ folder, environment }: Bundled, task: HostTask, options: ForkOptions = {}): Promise<HostReport> =>
  runProcess('./environment-host.js', { folder, ...task }, { env: environment, stdio: ['ignore', 'ignore', 'inherit', 'ipc'], ...options });

export interface BenchedRequest {
  method: string;
  path: string;
  query?: string;
  baseUrl: string;
  pathParameters?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
}

export function benchEvent({ method, path, query = '', baseUrl, pathParameters = {}, headers = {}, body = '' }: BenchedRequest) {
  const sent = { method, path, query, headers: Object.entries(headers), sourceIp: '127.0.0.1' };
  const received = { requestId: 'bench', domainName: new URL(baseUrl).host, startedMs: Date.now() };
  return toProxyEvent({ ...sent, ...received }, { resource: { path }, pathParameters }, Buffer.from(body));
}
