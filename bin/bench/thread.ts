import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A server in a thread of its own. */
export interface Thread {
  /** its address */
  url: string;
  /** what it has done since it was asked last */
  ask<T>(): Promise<T>;
  stop(): Promise<unknown>;
}

/** Starts a script of this folder whose first message is the address of its server. */
export async function startThread(script: string, workerData: unknown = {}): Promise<Thread> {
  const worker = new Worker(new URL(script, import.meta.url), { workerData, execArgv: [] });
  const [url] = await once(worker, 'message');
  return {
    url,
    ask: async () => {
      const answer = once(worker, 'message');
      worker.postMessage('report');
      return (await answer)[0];
    },
    stop: () => worker.terminate(),
  };
}
