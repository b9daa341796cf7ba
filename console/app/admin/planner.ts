import type { ImportOptions } from '../../../registry/import/plan.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Dropped } from './dropped.ts';
import type { Planned, Question, Reply } from './plan-worker.ts';

/** The page demands trusted types of what it runs. Browsers that do not know them yet take the address itself. */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): URL } }
  | undefined;

/** Reads documents and plans their import in a worker of its own: a large one takes half a minute, in which the page would stand still. */
export function openPlanner(files: Dropped['files'], main: string | undefined, options: ImportOptions) {
  let worker: Promise<Worker> | undefined;
  return {
    /**
     * @param headers - header fields that every call carries
     * @throws Error in a sentence for people
     */
    async plan(headers: Record<string, string>): Promise<Planned> {
      worker ??= startWorker();
      const running = await worker;
      const reply = await new Promise<Reply>((resolve, reject) => {
        // as text: a clone of a number that keeps every digit would be no number
        running.onmessage = ({ data }: MessageEvent<string>) => resolve(parseExact(data) as Reply);
        running.onerror = (event) => {
          event.preventDefault();
          reject(new Error('The browser could not read the document: it may be too large for it. Use the command line.'));
        };
        running.postMessage({ files, main, options: { ...options, headers } } satisfies Question);
      });
      if ('planned' in reply) return reply.planned;
      throw new Error('refusal' in reply ? reply.refusal : `The document could not be read: ${reply.fault}`);
    },
    close: () => void worker?.then((running) => running.terminate()),
  };
}

/** The script of the worker is a file of the page's own, which knows its address. */
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
