import { setTimeout as pause } from 'node:timers/promises';
import { bounded } from './invocation.ts';
import { type AwsAccess, openSignedRequests, serviceEndpoint } from './signed-request.ts';

/** Per attempt, in milliseconds. */
const requestTimeoutMs = 1_250;

const maxAttempts = 3;

/** Timeout of one operation with all its attempts, in milliseconds. */
const operationTimeoutMs = 2_500;

/** Maximum pause before the first retry, in milliseconds; it doubles with each further one. */
const firstPauseMs = 100;

/** Responses after which a retry may succeed. */
const isTransient = (status: number, name: string): boolean => status >= 500 || /Throttl|LimitExceeded|RequestTimeout/.test(name);

/**
 * Opens an AWS service that speaks AWS JSON 1.1. The SDK's client for it would make each function that uses it much larger.
 * @param service - its name in signatures
 * @param target - prefix of operation names in `x-amz-target`
 * @returns a function that sends one operation, up to three times; it throws an error with the name that AWS gave it
 */
export function openJsonService(service: string, target: string, access: AwsAccess & { endpointVariable?: string } = {}) {
  const {
    region = process.env.AWS_REGION ?? '',
    endpoint = serviceEndpoint(service, region, access.endpointVariable),
    credentials,
  } = access;
  const send = openSignedRequests(requestTimeoutMs, { service, region, credentials });
  const url = new URL(endpoint);

  async function attempt<T>(operation: string, input: object): Promise<{ answer?: T; failure: Error; mayRetry: boolean }> {
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${target}.${operation}` };
    try {
      const { status, body } = await send({ method: 'POST', url, headers, body: JSON.stringify(input) });
      const answer = JSON.parse(body);
      const name = String(answer.__type ?? '').replace(/^.*#/, '');
      const failure = Object.assign(new Error(`${operation} was answered with ${status}`), { name: name || 'Error' });
      return { ...(status === 200 && { answer }), failure, mayRetry: isTransient(status, name) };
    } catch (error) {
      return { failure: error as Error, mayRetry: (error as Error).name !== 'AbortError' };
    }
  }

  return <T extends object = Record<string, string>>(operation: string, input: object): Promise<T> =>
    bounded(operationTimeoutMs, async () => {
      for (let attempts = 1; ; attempts++) {
        const { answer, failure, mayRetry } = await attempt<T>(operation, input);
        if (answer) return answer;
        if (!mayRetry || attempts === maxAttempts) throw failure;
        await pause(Math.random() * firstPauseMs * 2 ** (attempts - 1));
      }
    });
}
