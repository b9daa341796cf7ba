/** The thread of one Lambda environment of {@link ./lambda.ts}. Plain JavaScript for the reason in {@link ./redirect-fetch.js}. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import './redirect-fetch.js';

const { folder, handler, functionName, memoryMb, timeoutMs, compileCache } = workerData;

// Log lines are sent together with the outcome, because a thread's own streams need several messages per line.
let log = '';
const send = (message) => {
  parentPort.postMessage({ ...message, log });
  log = '';
};
const sendLog = () => log && send({});
process.on('exit', sendLog);
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk, encoding, callback) => {
    if (!log) setImmediate(sendLog);
    log += chunk;
    (typeof encoding === 'function' ? encoding : callback)?.();
    return true;
  };
}

if (compileCache) enableCompileCache(compileCache);
const [file, name] = handler.split('.');
const { [name]: handle } = await import(pathToFileURL(join(folder, `${file}.cjs`)).href);

send({ isReady: true });

parentPort.on('message', async ({ requestId, event }) => {
  const deadlineMs = Date.now() + timeoutMs;
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
    // Lambda passes events and results as JSON.
    send({ result: JSON.stringify(await handle(JSON.parse(event), context)) });
  } catch (error) {
    send({ failure: inspect(error) });
  }
});
