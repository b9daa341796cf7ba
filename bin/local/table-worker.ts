/** The thread of {@link ./table.ts}. */
import { parentPort, workerData } from 'node:worker_threads';
import dynalite from 'dynalite';
import { close, listen } from './http.ts';

const { folder } = workerData as { folder?: string };
const server = dynalite({ createTableMs: 0, path: folder });
const port = await listen(server);
parentPort?.postMessage(port);
parentPort?.once('message', async () => {
  await close(server);
  process.exit();
});
