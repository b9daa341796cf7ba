import { isLoopbackHost } from '../../../client/address.ts';
import { Refusal } from '../../../client/errors.ts';
import type { Api } from '../../../registry/api.ts';
import { type Applied, applyChanges } from '../../../registry/apply.ts';
import type { ServiceChanges } from '../../../registry/compare.ts';
import { compareDocument } from '../../../registry/compare-document.ts';
import { CliFailure } from '../../../registry/failure.ts';
import { mayBeDocument } from '../../../registry/import/join-files.ts';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { loadOther } from '../../../registry/load-other.ts';
import { requireService } from '../../../registry/read.ts';
import { parseExact } from '../../../schemas/number.ts';
import { deployment } from '../deployment.ts';
import { describeFailure, gateUrl, openAdminApi } from '../gate.ts';
import type { Dropped } from './dropped.ts';
import type { Planned, Question, Reply } from './plan-worker.ts';

const concurrency = 6;

type OnProgress = (done: number, total: number) => void;

interface ImportChoices {
  /** address of the API, overriding the document */
  baseUrl?: string | undefined;
  isDraft: boolean;
  /** path of the file that is the document, if chosen */
  main?: string | undefined;
}

/** What an import would change. */
export interface DryRun extends Planned {
  changes: ServiceChanges;
}

const openContext = (onProgress: OnProgress) => ({
  api: openAdminApi(),
  again: 'Read the document again',
  terminal: {
    progress: (_what: string, total: number) => {
      let done = 0;
      onProgress(done, total);
      return { step: () => onProgress(++done, total), end: () => {} };
    },
  },
});

/**
 * Plans the import of a document as the command `import` does, with the files dropped beside it, and compares the plan with the registry.
 * @throws CliFailure or IntentGateError with a message for users
 */
export async function dryRun(dropped: Dropped, { baseUrl, isDraft, main }: ImportChoices, onProgress: OnProgress): Promise<DryRun> {
  const context = openContext(onProgress);
  const { localUpstreams = [] } = deployment;
  const { name, serviceId } = dropped;
  const into = serviceId === undefined ? undefined : (await requireService(context.api, serviceId)).record;
  const files = dropped.isAddress ? await readAddress(name, serviceId) : dropped.files;
  const rules = {
    ports: portsOf(baseUrl, name),
    allowLoopback: isLoopbackHost(new URL(gateUrl).hostname),
    localUpstreams,
    ownHosts: [],
  };
  const documentUrl = dropped.isAddress ? name : undefined;
  const options = { baseUrl, documentUrl, findsHeaders: into === undefined, serviceUrl: into?.service_url, rules, registryUrl: gateUrl };
  const planner = openPlanner(files, main, options);
  try {
    const planWith = async (headers: Record<string, string>) => {
      const { plan, ...reading } = await planner.plan(headers);
      return { ...plan, reading };
    };
    const choices = { into, isDraft, isThorough: true, concurrency };
    const { planned, plan, changes } = await compareDocument(context, planWith, choices);
    return { ...planned.reading, plan, changes };
  } finally {
    planner.close();
  }
}

/** Allows the requested ports, because only the deployment knows which ports it accepts. */
const portsOf = (...urls: (string | undefined)[]): number[] => [
  ...new Set([443, ...urls.map((url = '') => Number(URL.parse(url)?.port || 443))]),
];

/**
 * The document at an address, which the gate reads, or what the address has instead, as a file.
 * @param serviceId - the service to import into; only servers get its credential
 */
async function readAddress(address: string, serviceId: string | undefined): Promise<Dropped['files']> {
  const adminApi = openAdminApi();
  const text = await readDocument(adminApi, address).catch(async (failure: unknown) => {
    if (!(failure instanceof NoDocument)) throw failure;
    const other = loadOther(adminApi, address, serviceId, failure);
    return JSON.stringify(
      await other.catch((error: Error) => {
        throw isDenial(failure, error) ? new Error(denial) : error;
      }),
    );
  });
  return new Map([['document', new File([text], 'document')]]);
}

const denial =
  'The server denies access to the gate. If it is an MCP server, register its service, set its credential, and choose the service here. Otherwise download the document, and drop it.';

/** An address gave no document. */
class NoDocument extends Error {
  readonly status: number;

  constructor(message: string, { upstream_status }: Refusal['details'] = {}) {
    super(message);
    this.status = Number(upstream_status);
  }
}

/** Whether access was denied: to the document, or to an MCP server, which does not know GET. Hosts of files deny POST to everybody. */
const isDenial = ({ status }: NoDocument, { cause }: Error): boolean =>
  [401, 403].includes(status) || ([405, 406].includes(status) && cause instanceof CliFailure && cause.reason === 'credentials');

async function readDocument(adminApi: Api, address: string): Promise<string> {
  const { body } = await adminApi.call('GET', '/api/document', { isAdmin: true, query: { url: address } }).catch((error: unknown) => {
    if (!(error instanceof Refusal) || !['INVALID_PARAMETER', 'INTENT_EXECUTION_FAILED'].includes(error.code)) throw error;
    const { issues, details } = error;
    const { location } = details;
    if (issues.length > 0) throw new NoDocument(`The address ${issues.map(({ problem }) => problem).join(', ')}.`);
    if (typeof location === 'string') throw new NoDocument(`The address redirects to ${location}; give that address if you trust it.`);
    throw new NoDocument(describeFailure(error), details);
  });
  const { document } = body as { document: string };
  if (!mayBeDocument(document)) throw new NoDocument('The address did not give an API document.');
  return document;
}

/** Applies a dry run. Can be repeated after an interruption to complete it. */
export const applyDryRun = ({ changes }: DryRun, onProgress: OnProgress): Promise<Applied> =>
  applyChanges(openContext(onProgress), changes, false);

/** The page's policy requires Trusted Types for script URLs. Browsers that do not support them take plain URLs. */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): URL } }
  | undefined;

/** Plans imports in a worker, because a large document takes half a minute, which would freeze the page. */
function openPlanner(files: Dropped['files'], main: string | undefined, options: ImportOptions) {
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
            throw new TypeError('Not a script of this page.');
          },
        });
  return new Worker(policy?.createScriptURL(address) ?? address, { type: 'module' });
}
