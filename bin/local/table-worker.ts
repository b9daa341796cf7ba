/** The thread of {@link ./table.ts}. */
import { parentPort, workerData } from 'node:worker_threads';
import { listenForStack } from './guard.ts';
import { close } from './http.ts';
import { serveTables } from './transactions.ts';

const { folder } = workerData as { folder?: string };
const server = serveTables({ path: folder });
parentPort?.postMessage(await listenForStack(server));
parentPort?.once('message', async () => {
  await close(server);
  process.exit();
});
