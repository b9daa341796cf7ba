/** The thread of one Lambda environment, see {@link ./lambda.ts}. Plain JavaScript, as {@link ./redirect-fetch.js} says. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import './redirect-fetch.js';

const { folder, handler, functionName, memoryMb, compileCache } = workerData;

// One message for each write: a thread's own stream asks for two more.
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk, encoding, callback) => {
    parentPort.postMessage({ log: String(chunk) });
    (typeof encoding === 'function' ? encoding : callback)?.();
    return true;
  };
}

if (compileCache) enableCompileCache(compileCache);
const [file, name] = handler.split('.');
const { [name]: handle } = await import(pathToFileURL(join(folder, `${file}.mjs`)).href);

parentPort.on('message', async ({ requestId, deadlineMs, event }) => {
  const context = {
    awsRequestId: requestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${functionName}`,
    memoryLimitInMB: String(memoryMb),
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadlineMs - Date.now()),
  };
  try {
    // Lambda hands events and results on as JSON.
    parentPort.postMessage({ result: JSON.stringify(await handle(JSON.parse(event), context)) });
  } catch (error) {
    parentPort.postMessage({ failure: inspect(error) });
  }
});
