import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Resource } from '../local/api-definition.ts';
import { toProxyEvent } from '../local/gateway-event.ts';
import type { HostReport, HostTask } from './environment-host.ts';

/** Runs a function's bundle in a process of its own, without the stand-in for API Gateway. */
export async function runAlone(bundle: string, environment: Record<string, string>, task: HostTask): Promise<HostReport> {
  const child = fork(fileURLToPath(new URL('./environment-host.ts', import.meta.url)), [bundle], {
    env: environment,
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(task);
  const ended = once(child, 'exit').then(() => [undefined]);
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [HostReport | undefined];
  if (!report) throw new Error('the function could not be run in a process of its own');
  await ended;
  return report;
}

export interface BenchedRequest {
  method: string;
  path: string;
  baseUrl: string;
  headers: Record<string, string>;
  body: string;
}

/** What the stand-in for API Gateway makes of a request. */
export function benchEvent({ method, path, baseUrl, headers, body }: BenchedRequest): unknown {
  const request = {
    method,
    path,
    query: '',
    headers: Object.entries(headers),
    requestId: 'bench',
    domainName: new URL(baseUrl).host,
    sourceIp: '127.0.0.1',
    startedMs: Date.now(),
  };
  return toProxyEvent(request, { resource: { path } as Resource, pathParameters: {} }, Buffer.from(body));
}
