import { isLoopbackHost } from '../../../client/address.ts';
import { type Applied, applyChanges } from '../../../registry/apply.ts';
import type { ServiceChanges } from '../../../registry/compare.ts';
import { compareDocument } from '../../../registry/compare-document.ts';
import { deployment } from '../deployment.ts';
import { gateUrl } from '../gate.ts';
import { openAdminApi } from './admin-api.ts';
import type { Dropped } from './dropped.ts';
import type { Planned } from './plan-worker.ts';
import { openPlanner } from './planner.ts';

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
export async function dryRun({ files }: Dropped, { baseUrl, isDraft, main }: ImportChoices, onProgress: OnProgress): Promise<DryRun> {
  const context = openContext(onProgress);
  const { localUpstreams = [] } = deployment;
  const rules = { ports: portsOf(baseUrl), allowLoopback: isLoopbackHost(new URL(gateUrl).hostname), localUpstreams, ownHosts: [] };
  const planner = openPlanner(files, main, { baseUrl, findsHeaders: true, rules, registryUrl: gateUrl });
  try {
    const planWith = async (headers: Record<string, string>) => {
      const { plan, ...reading } = await planner.plan(headers);
      return { ...plan, reading };
    };
    const choices = { isDraft, isThorough: true, concurrency };
    const { planned, plan, changes } = await compareDocument(context, planWith, choices);
    return { ...planned.reading, plan, changes };
  } finally {
    planner.close();
  }
}

/** Allows the requested port, because only the deployment knows which ports it accepts. */
const portsOf = (baseUrl = ''): number[] => [...new Set([443, Number(URL.parse(baseUrl)?.port || 443)])];

/** Applies a dry run. Can be repeated after an interruption to complete it. */
export const applyDryRun = ({ changes }: DryRun, onProgress: OnProgress): Promise<Applied> =>
  applyChanges(openContext(onProgress), changes, false);
