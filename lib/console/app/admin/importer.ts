import { openApi } from '../../../../bin/cli/api.ts';
import { DocumentError, decodeText, readDocument } from '../../../../bin/cli/import/document.ts';
import { isDocumentName, joinFiles, withoutFragment } from '../../../../bin/cli/import/join-files.ts';
import type { ImportPlan } from '../../../../bin/cli/import/plan.ts';
import { planImport } from '../../../../bin/cli/import/plan-import.ts';
import { type Applied, applyChanges } from '../../../../bin/cli/registry/apply.ts';
import { compareService, findWanted, type ServiceChanges } from '../../../../bin/cli/registry/compare.ts';
import { listAllIntents } from '../../../../bin/cli/registry/read.ts';
import { keepVersion } from '../../../../bin/cli/registry/versions.ts';
import { isLoopbackHost } from '../../../../client/address.ts';
import { isObject } from '../../../../functions/core/json.ts';
import { loadPatternEngine } from '../../in-browser/module.ts';
import { gateUrl, isUnauthorized, SignInEnded } from '../gate.ts';
import { accessToken, awaitSession, hasTokenEnded, renewSession } from '../session.ts';
import type { Dropped } from './dropped.ts';

/** How many requests at a time. */
const concurrency = 6;

/** Most bytes of a document: the page stands still while it reads it. */
const maxBytes = 32_000_000;

/** How far the work is. */
export type OnProgress = (done: number, total: number) => void;

export interface ImportChoices {
  /** the API's address, in place of what the document says */
  baseUrl?: string | undefined;
  isDraft: boolean;
  /** which of the files is the document, if that has been chosen */
  main?: string | undefined;
}

/** What an import would do: nothing is changed yet. */
export interface DryRun {
  plan: ImportPlan;
  changes: ServiceChanges;
  /** which of the files is the document */
  main: string;
  /** those that could be it, the likeliest first */
  candidates: string[];
  /** references to files that are not among those that were dropped, and to addresses */
  missing: string[];
}

const openContext = (onProgress: OnProgress) => ({
  api: openApi(gateUrl, { get: currentToken }),
  terminal: {
    progress: (_what: string, total: number) => {
      let done = 0;
      onProgress(done, total);
      return { step: () => onProgress(++done, total), end: () => {} };
    },
  },
});

/** If the sign-in has ended, the work waits until the same person has signed in again, and goes on where it has stopped. */
async function currentToken(renew = false): Promise<string> {
  if (!renew && !hasTokenEnded()) return accessToken() ?? '';
  if (!(await renewSession()) && accessToken() === undefined && !(await awaitSession())) throw new SignInEnded();
  return accessToken() ?? '';
}

/** A refusal of the token, which could not be renewed just now, is one as well. */
async function whileSignedIn<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isUnauthorized(error) ? new SignInEnded() : error;
  }
}

/**
 * Reads a document as the command `import` does, with the files that were dropped beside it, and compares what would come of it with the registry.
 * @throws CliFailure or IntentGateError in a sentence for people
 */
export async function dryRun(
  { files }: Dropped,
  { baseUrl, isDraft, main: chosen }: ImportChoices,
  onProgress: OnProgress,
): Promise<DryRun> {
  await loadPatternEngine();
  const context = openContext(onProgress);
  const candidates = await findDocuments(files);
  const [main = candidates[0] ?? ''] = candidates.filter((name) => name === chosen);
  const { document, missing, notes } = await join(files, main);
  const rules = { ports: portsOf(baseUrl), allowLoopback: isLoopbackHost(new URL(gateUrl).hostname), ownHosts: [] };
  const planWith = (headers: Record<string, string>) =>
    planImport(document, { baseUrl, headers, findsHeaders: true, rules, registryUrl: gateUrl });
  const first = planWith({});
  return whileSignedIn(async () => {
    const standing = await findWanted(context.api, first);
    // what an admin has set for a service that is imported again stays
    const planned = standing?.record.headers ? planWith(standing.record.headers) : first;
    const uids = standing ? (await listAllIntents(context.api, standing.record.service_id)).map(({ intent_uid }) => intent_uid) : [];
    const plan = keepVersion({ ...planned, notes: [...notes, ...planned.notes] }, uids);
    const intents = isDraft ? plan.intents.map((intent) => ({ ...intent, draft: true })) : plan.intents;
    const changes = await compareService(context, { service: plan.service, intents, keepsDrafts: true }, concurrency, true);
    return { plan, changes, main, candidates, missing };
  });
}

/** Which ports are allowed is up to the deployment, so the port that is asked for is not checked here. */
const portsOf = (baseUrl = ''): number[] => [...new Set([443, Number(URL.parse(baseUrl)?.port || 443)])];

/** Does what the dry run has shown. Done again after an interruption, it finishes the work. */
export const applyDryRun = ({ changes }: DryRun, onProgress: OnProgress): Promise<Applied> =>
  whileSignedIn(() => applyChanges(openContext(onProgress), changes, concurrency, false));

type Files = Dropped['files'];

const depthOf = (path: string): number => path.split('/').length;

const rootMembers = ['openapi', 'swagger', 'service-info', 'service_info', 'service'];

/**
 * Which of the files can be imported, among those that are in no folder below another one that can.
 * @throws DocumentError if none can
 */
async function findDocuments(files: Files): Promise<string[]> {
  if (files.size === 1) return [...files.keys()];
  const names = [...files.keys()].sort((left, right) => Number(isUsual(right)) - Number(isUsual(left)) || (left < right ? -1 : 1));
  for (const [, level] of [...Map.groupBy(names, depthOf)].sort(([left], [right]) => left - right)) {
    const found = [];
    for (const name of level) if (await isDocument(files.get(name))) found.push(name);
    if (found.length > 0) return found;
  }
  throw new DocumentError(
    `None of the ${files.size} files is an OpenAPI or Swagger document or a service description. Drop the folder that holds the document.`,
  );
}

const isUsual = (path: string): boolean => /(^|\/)(openapi|swagger)\.\w+$/i.test(path);

async function isDocument(file: File | undefined): Promise<boolean> {
  try {
    const document = file && readDocument(await textOf(file));
    return isObject(document) && rootMembers.some((name) => Object.hasOwn(document, name));
  } catch (error) {
    if (error instanceof DocumentError) return false;
    throw error;
  }
}

async function textOf(file: File): Promise<string> {
  if (file.size > maxBytes)
    throw new DocumentError(
      `${file.name} has ${Math.ceil(file.size / 1e6)} MB, and the page reads at most ${maxBytes / 1e6}. Use the command line: it has no such limit.`,
    );
  return decodeText(new Uint8Array(await file.arrayBuffer()));
}

/** The document with the files that it refers to, each of which has an address of this kind. */
async function join(files: Files, main: string) {
  const missing = new Set<string>();
  const folder = 'https://dropped.invalid/files/';
  const addressOf = (path: string) => folder + path.split('/').map(encodeURIComponent).join('/');
  const byAddress = new Map([...files].map(([path, file]) => [addressOf(path), { path, file }]));
  const find = (reference: string, from: string): string | undefined => {
    const url = URL.parse(withoutFragment(reference), from)?.href ?? '';
    if (byAddress.has(url) && isDocumentName(url)) return url;
    missing.add(url.startsWith(folder) ? decodeURIComponent(url.slice(folder.length)) : withoutFragment(reference));
    return undefined;
  };
  const loaded = await joinFiles(await textOf(files.get(main) as File), {
    origin: addressOf(main),
    find,
    read: async (address) => new Uint8Array(await (byAddress.get(address)?.file ?? new Blob()).arrayBuffer()),
    nameOf: (address) => byAddress.get(address)?.path ?? address,
  });
  return { ...loaded, missing: [...missing].sort() };
}
