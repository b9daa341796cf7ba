import { readEnvironment } from './environment.ts';
import { openSignedRequests, serviceEndpoint } from './signed-request.ts';

const region = process.env.AWS_REGION ?? '';

interface Invoked {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Returns a function that invokes another function of this gate. It signs requests itself, because Lambda's SDK client would make small functions a
 * fifth larger.
 * @param kind - `RequestResponse` waits for the result; `Event` returns 202 as soon as Lambda has accepted the event
 */
export function openFunction(nameOrArn: string, kind: 'RequestResponse' | 'Event', timeoutMs: number) {
  const url = new URL(`${serviceEndpoint('lambda', region)}/2015-03-31/functions/${encodeURIComponent(nameOrArn)}/invocations`);
  const send = openSignedRequests(timeoutMs, { service: 'lambda', region });
  const headers = { 'content-type': 'application/json', 'x-amz-invocation-type': kind };
  return (event: object): Promise<Invoked> => send({ method: 'POST', url, headers, body: JSON.stringify(event) });
}

/** Returns a function that starts another function without waiting for it. It throws if Lambda does not accept the event. */
export function openEvents(nameOrArn: string): (event: object) => Promise<void> {
  const invoke = openFunction(nameOrArn, 'Event', 2_000);
  return async (event) => {
    const { status } = await invoke(event);
    if (status !== 202) throw new Error(`Lambda answered ${status}`);
  };
}

/** Returns a function that starts the worker of a deferred call, as {@link openEvents} does. */
export function openStart(): (executionId: string) => Promise<void> {
  const { deferredFunction } = readEnvironment(['deferredFunction']);
  const start = openEvents(deferredFunction);
  return (execution_id) => start({ execution_id });
}
