/** A thread with a table client and a counter of its own: makes `calls` calls at once and says how each ended. */
import { parentPort, workerData } from 'node:worker_threads';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { connectTable } from './connect-table.ts';

const { endpoint, tableNames, calls, request } = workerData;
const counter = openRateLimiter(connectTable(endpoint, tableNames));
parentPort?.once('message', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: calls }, () =>
      counter.consume(request).then(
        ({ isAdmitted }) => (isAdmitted ? 'admitted' : 'refused'),
        ({ code }) => code,
      ),
    ),
  );
  parentPort?.postMessage(outcomes);
});
await counter.inspect(request);
parentPort?.postMessage('ready');
