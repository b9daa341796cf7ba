/** The thread of one Lambda environment, see {@link ./lambda.ts}. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import type { Invocation, Outcome } from './lambda.ts';

const { folder, handler } = workerData as { folder: string; handler: string };
const [file = '', name = ''] = handler.split('.');
const handle: (event: unknown, context: object) => unknown = (await import(pathToFileURL(join(folder, `${file}.mjs`)).href))[name];

parentPort?.on('message', async ({ requestId, functionName, memoryMb, deadlineMs, event }: Invocation) => {
  const context = {
    awsRequestId: requestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${functionName}`,
    memoryLimitInMB: String(memoryMb),
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadlineMs - Date.now()),
  };
  let outcome: Outcome;
  try {
    // Lambda hands results on as JSON.
    const json = JSON.stringify(await handle(event, context));
    outcome = { result: json === undefined ? undefined : JSON.parse(json) };
  } catch (error) {
    outcome = { failure: inspect(error) };
  }
  parentPort?.postMessage(outcome);
});
