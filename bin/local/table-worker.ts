/** The thread of {@link ./table.ts}. */
import { parentPort, workerData } from 'node:worker_threads';
import dynalite from 'dynalite';
import { listenForStack } from './guard.ts';
import { close } from './http.ts';

const { folder } = workerData as { folder?: string };
const server = dynalite({ createTableMs: 0, path: folder });
parentPort?.postMessage(await listenForStack(server));
parentPort?.once('message', async () => {
  await close(server);
  process.exit();
});
