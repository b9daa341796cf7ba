import { readEnvironment } from './environment.ts';
import { openSignedRequests, serviceEndpoint } from './signed-request.ts';

const region = process.env.AWS_REGION ?? '';

interface Invoked {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Opens what runs another function of this gate. Requests are signed here, because Lambda's own client would make small functions a fifth larger.
 * @param kind - `RequestResponse` waits for what the function returns; `Event` only has Lambda accept the event, and is answered 202
 */
export function openFunction(nameOrArn: string, kind: 'RequestResponse' | 'Event', timeoutMs: number) {
  const url = new URL(`${serviceEndpoint('lambda', region)}/2015-03-31/functions/${encodeURIComponent(nameOrArn)}/invocations`);
  const send = openSignedRequests(timeoutMs, { service: 'lambda', region });
  const headers = { 'content-type': 'application/json', 'x-amz-invocation-type': kind };
  return (event: object): Promise<Invoked> => send({ method: 'POST', url, headers, body: JSON.stringify(event) });
}

/**
 * Opens what starts the worker of a deferred call, which then runs on its own.
 * @returns a function that throws if Lambda does not accept the event
 */
export function openStart(): (executionId: string) => Promise<void> {
  const { deferredFunction } = readEnvironment(['deferredFunction']);
  const invoke = openFunction(deferredFunction, 'Event', 2_000);
  return async (execution_id) => {
    const { status } = await invoke({ execution_id });
    if (status !== 202) throw new Error(`Lambda answered ${status}`);
  };
}
