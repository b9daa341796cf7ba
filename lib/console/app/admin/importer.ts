import { openApi } from '../../../../bin/cli/api.ts';
import { decodeText, readDocument } from '../../../../bin/cli/import/document.ts';
import type { ImportPlan } from '../../../../bin/cli/import/plan.ts';
import { planImport } from '../../../../bin/cli/import/plan-import.ts';
import { type Applied, applyChanges } from '../../../../bin/cli/registry/apply.ts';
import { compareService, findWanted, type ServiceChanges } from '../../../../bin/cli/registry/compare.ts';
import { listAllIntents } from '../../../../bin/cli/registry/read.ts';
import { keepVersion } from '../../../../bin/cli/registry/versions.ts';
import { isLoopbackHost } from '../../../../client/address.ts';
import { loadPatternEngine } from '../../in-browser/module.ts';
import { gateUrl } from '../gate.ts';
import { accessToken, renewSession } from '../session.ts';

/** How many requests at a time. */
const concurrency = 6;

/** How far the work is. */
export type OnProgress = (done: number, total: number) => void;

export interface ImportChoices {
  /** the API's address, in place of what the document says */
  baseUrl?: string | undefined;
  isDraft: boolean;
}

/** What an import would do: nothing is changed yet. */
export interface DryRun {
  plan: ImportPlan;
  changes: ServiceChanges;
}

const openContext = (onProgress: OnProgress) => ({
  api: openApi(gateUrl, {
    get: async (renew = false) => {
      if (renew) await renewSession();
      return accessToken() ?? '';
    },
  }),
  terminal: {
    progress: (_what: string, total: number) => {
      let done = 0;
      onProgress(done, total);
      return { step: () => onProgress(++done, total), end: () => {} };
    },
  },
});

/**
 * Reads a document as the command `import` does, and compares what would come of it with the registry.
 * @throws CliFailure or IntentGateError in a sentence for people
 */
export async function dryRun(file: File, { baseUrl, isDraft }: ImportChoices, onProgress: OnProgress): Promise<DryRun> {
  await loadPatternEngine();
  const context = openContext(onProgress);
  const document = readDocument(decodeText(new Uint8Array(await file.arrayBuffer())));
  const rules = { ports: portsOf(baseUrl), allowLoopback: isLoopbackHost(new URL(gateUrl).hostname), ownHosts: [] };
  const planWith = (headers: Record<string, string>) =>
    planImport(document, { baseUrl, headers, findsHeaders: true, rules, registryUrl: gateUrl });
  const first = planWith({});
  const standing = await findWanted(context.api, first);
  // what an admin has set for a service that is imported again stays
  const planned = standing?.record.headers ? planWith(standing.record.headers) : first;
  const uids = standing ? (await listAllIntents(context.api, standing.record.service_id)).map(({ intent_uid }) => intent_uid) : [];
  const plan = keepVersion(planned, uids);
  const intents = isDraft ? plan.intents.map((intent) => ({ ...intent, draft: true })) : plan.intents;
  return { plan, changes: await compareService(context, { service: plan.service, intents, keepsDrafts: true }, concurrency, true) };
}

/** Which ports are allowed is up to the deployment, so the port that is asked for is not checked here. */
const portsOf = (baseUrl = ''): number[] => [...new Set([443, Number(URL.parse(baseUrl)?.port || 443)])];

/** Does what the dry run has shown. Done again after an interruption, it finishes the work. */
export const applyDryRun = ({ changes }: DryRun, onProgress: OnProgress): Promise<Applied> =>
  applyChanges(openContext(onProgress), changes, concurrency, false);
