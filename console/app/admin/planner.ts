import type { ImportOptions } from '../../../registry/import/plan.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Dropped } from './dropped.ts';
import type { Planned, Question, Reply } from './plan-worker.ts';

/** The page's policy requires Trusted Types for script URLs. Browsers that do not support them take plain URLs. */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): URL } }
  | undefined;

/** Plans imports in a worker, because a large document takes half a minute, which would freeze the page. */
export function openPlanner(files: Dropped['files'], main: string | undefined, options: ImportOptions) {
  let worker: Promise<Worker> | undefined;
  return {
    /**
     * @param headers - header fields sent with every call
     * @throws Error with a message for users
     */
    async plan(headers: Record<string, string>): Promise<Planned> {
      worker ??= startWorker();
      const running = await worker;
      const reply = await new Promise<Reply>((resolve, reject) => {
        // as text, because structured cloning does not preserve exact numbers
        running.onmessage = ({ data }: MessageEvent<string>) => resolve(parseExact(data) as Reply);
        running.onerror = (event) => {
          event.preventDefault();
          reject(new Error('The browser could not read the document, which may be too large for it. Use the command line.'));
        };
        running.postMessage({ files, main, options: { ...options, headers } } satisfies Question);
      });
      if ('planned' in reply) return reply.planned;
      throw new Error('refusal' in reply ? reply.refusal : `The document could not be read: ${reply.fault}`);
    },
    close: () => void worker?.then((running) => running.terminate()),
  };
}

/** Starts the worker, whose script is a file of the page that knows its own URL. */
async function startWorker(): Promise<Worker> {
  const { address } = await import('./plan-worker.ts');
  const policy =
    typeof trustedTypes === 'undefined'
      ? undefined
      : trustedTypes.createPolicy('worker', {
          createScriptURL: (url) => {
            if (url === address) return url;
            throw new TypeError('no script of the page');
          },
        });
  return new Worker(policy?.createScriptURL(address) ?? address, { type: 'module' });
}
