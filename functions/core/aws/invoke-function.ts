import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { readEnvironment } from '../runtime/environment.ts';
import { awsClientSettings } from './aws-client.ts';

/**
 * Returns a function that invokes another function of this gate, once.
 * It returns the result as JSON, and throws if Lambda does not accept the event or the function fails.
 * @param kind - `RequestResponse` waits for the result; `Event` returns as soon as Lambda has accepted the event
 */
export function openFunction(nameOrArn: string, kind: 'RequestResponse' | 'Event', timeoutMs: number) {
  const client = new LambdaClient(awsClientSettings(timeoutMs, 1));
  return async (event: object): Promise<string> => {
    const command = new InvokeCommand({ FunctionName: nameOrArn, InvocationType: kind, Payload: JSON.stringify(event) });
    const { FunctionError, Payload } = await client.send(command);
    if (FunctionError !== undefined) throw new Error('the function failed');
    return Payload?.transformToString() ?? '';
  };
}

/**
 * Returns a function that starts another function without waiting for it. It throws if Lambda does not accept the event.
 * @param timeoutMs - how long Lambda may take to accept it, in milliseconds
 */
export function openEvents(nameOrArn: string, timeoutMs = 2_000): (event: object) => Promise<void> {
  const invoke = openFunction(nameOrArn, 'Event', timeoutMs);
  return async (event) => void (await invoke(event));
}

/** Returns a function that starts the worker of a deferred call, as {@link openEvents} does. */
export function openStart(): (executionId: string) => Promise<void> {
  const { deferredFunction } = readEnvironment(['deferredFunction']);
  const start = openEvents(deferredFunction);
  return (execution_id) => start({ execution_id });
}
