import { setFlagsFromString } from 'node:v8';
import { checkOrigin, type EgressRules } from '../../../functions/core/relay/egress.ts';
import { originOf } from '../../../functions/core/relay/url-template.ts';
import { type Applied, applyChanges } from '../../../registry/apply.ts';
import type { ServiceChanges } from '../../../registry/compare.ts';
import { compareDocument } from '../../../registry/compare-document.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { openReader, TooLarge } from '../../../registry/import/document.ts';
import type { Loaded } from '../../../registry/import/join-files.ts';
import { loadAddress, loadFile } from '../../../registry/import/load-document.ts';
import type { Note } from '../../../registry/import/node.ts';
import type { ImportPlan } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { readText } from '../../../registry/input.ts';
import { loadOther } from '../../../registry/load-other.ts';
import { requireService } from '../../../registry/read.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { isStackAt, readDescription } from '../../local/stack-file.ts';
import { type CliContext, isLoopback, readHeaders } from '../context.ts';
import type { ImportChoices } from './import-choices.ts';

/** What an import would change, and why. */
export interface PlannedImport {
  loaded: Loaded;
  plan: ImportPlan;
  /** version of the document; the plan has the one that registered intents keep */
  documentVersion: string | undefined;
  changes: ServiceChanges;
}

export interface ImportOutcome extends PlannedImport {
  /** undefined if nothing was to be changed */
  applied?: Applied;
}

/**
 * Reads a document, compares it with the registry and, unless it is a dry run or no operation can be imported, applies the changes.
 * @param review - shows what was planned; throws if the admin does not confirm it
 */
export async function importDocument(
  context: CliContext,
  source: string,
  options: ImportChoices,
  review: (planned: PlannedImport) => Promise<void>,
): Promise<ImportOutcome> {
  const planned = await planDocument(context, source, options);
  await review(planned);
  if (options.dryRun || planned.plan.intents.length === 0) return planned;
  return { ...planned, applied: await applyChanges(context, planned.changes, options.prune === true) };
}

async function planDocument(context: CliContext, source: string, options: ImportChoices): Promise<PlannedImport> {
  const { api, terminal } = context;
  const { service, intentVersion: version, namespace, name: serviceName, baseUrl } = options;
  if (version !== undefined && !/^v[0-9]+([.][0-9]+)*$/.test(version))
    throw usageFailure('--intent-version needs v and numbers separated by dots, for example v1.2.');
  const rules = chooseRules(api.baseUrl, baseUrl, options.allowLoopback);
  const into = service === undefined ? undefined : (await requireService(api, service)).record;
  const documentUrl = /^https?:\/\//i.test(source) ? source : undefined;
  if (documentUrl !== undefined && options.with !== undefined && !URL.canParse(options.with))
    throw usageFailure('--with needs the address of a folder, because the document is at an address.');
  const read = () => readSource(source, documentUrl, rules, options.with, options.large);
  const readOther = async (address: string, failure: Error): Promise<Loaded> => {
    if (!(failure instanceof CliFailure) || failure instanceof TooLarge) throw failure;
    const document = await loadOther(api, address, into?.service_id, failure);
    return { document, notes: [], files: [], left: [] };
  };
  const loaded = documentUrl === undefined ? await read() : await read().catch((failure) => readOther(documentUrl, failure));
  if (into !== undefined && options.header !== undefined)
    throw usageFailure(
      '--header cannot be combined with --service, which does not change the record of the service. Use "services update --header" instead.',
    );
  const planWith = (headers: Record<string, string>) =>
    planImport(loaded.document, {
      ...{ namespace, version, serviceName, baseUrl, documentUrl, headers },
      // the gate has accepted the port of what it has read there itself
      rules: { ...rules, ports: [...new Set([...rules.ports, portOf(documentUrl)])] },
      keepDeprecated: options.keepDeprecated === true,
      ignoreHeaders: options.ignoreHeader,
      findsHeaders: into === undefined,
      serviceUrl: into?.service_url,
      allowedOrigins: readOrigins(options.allowOrigin),
      registryUrl: api.baseUrl,
      progress: terminal.progress,
    });
  const { planned, plan, changes } = await compareDocument(context, planWith, {
    ...{ into, version, namespace, concurrency: options.concurrency },
    headers: readHeaders(options.header),
    isNamed: serviceName !== undefined,
    isDraft: options.draft,
    isDeprecating: options.deprecateOlder,
    isThorough: options.dryRun === true,
  });
  const notes = [...loaded.notes, ...planned.notes, ...findUnreachable(planned.intents, rules)];
  return { loaded, plan: { ...plan, notes }, documentVersion: planned.version, changes };
}

function readOrigins(given: readonly string[] = []): string[] {
  return given.map((text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
      throw usageFailure('--allow-origin needs an origin without a path, for example https://files.example.com.');
    return url.origin;
  });
}

/** Notes origins that only a local gate accepts. */
function findUnreachable(intents: readonly IntentInput[], rules: EgressRules): Note[] {
  if (!rules.allowLoopback) return [];
  return [...new Set(intents.flatMap(({ endpoint }) => originOf(endpoint.url) ?? []))]
    .filter((origin) => !isLoopback(origin))
    .flatMap((origin) =>
      checkOrigin(origin, { ...rules, allowLoopback: false }).map((problem) => ({
        path: '/servers',
        note: `a deployment would refuse ${origin}: it ${problem}`,
      })),
    );
}

async function readSource(source: string, url: string | undefined, rules: EgressRules, parts?: string, isLarge?: true): Promise<Loaded> {
  // young garbage would otherwise take more memory than a large document
  setFlagsFromString('--semi-space-growth-factor=1');
  if (url !== undefined) return loadAddress(url, rules, parts, isLarge);
  if (source !== '-') return loadFile(source, parts, isLarge);
  return { document: openReader(isLarge)(await readText(source)), notes: [], files: [], left: [] };
}

const portOf = (url = ''): number => Number(URL.parse(url)?.port || 443);

/** Allows the port in `baseUrl`, because only the deployment knows which ports it accepts. */
function chooseRules(registryUrl: string, baseUrl = '', allowLoopback = false): EgressRules {
  const stack = readDescription();
  const localUpstreams = stack !== undefined && isStackAt(stack, registryUrl) ? (stack.local_upstreams ?? []) : [];
  return {
    ports: [...new Set([443, portOf(baseUrl)])],
    allowLoopback: allowLoopback || isLoopback(registryUrl),
    localUpstreams,
    ownHosts: [],
  };
}
