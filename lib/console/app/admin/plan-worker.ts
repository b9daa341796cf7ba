import { DocumentError, decodeText, readDocument } from '../../../../bin/cli/import/document.ts';
import { isDocumentName, joinFiles, withoutFragment } from '../../../../bin/cli/import/join-files.ts';
import type { Note } from '../../../../bin/cli/import/node.ts';
import type { ImportOptions, ImportPlan } from '../../../../bin/cli/import/plan.ts';
import { planImport } from '../../../../bin/cli/import/plan-import.ts';
import { isObject } from '../../../../functions/core/json.ts';
import { loadPatternEngine } from '../../in-browser/module.ts';
import type { Dropped } from './dropped.ts';

/** What was read of the files that were dropped. */
export interface Reading {
  /** which of the files is the document */
  main: string;
  /** those that could be it, the likeliest first */
  candidates: string[];
  /** references to files that are not among those that were dropped, and to addresses */
  missing: string[];
}

/** What the worker is asked, once and again with other header fields. */
export interface Question {
  files: Dropped['files'];
  main: string | undefined;
  options: ImportOptions;
}

export type Planned = Reading & { plan: ImportPlan };

export type Reply = { planned: Planned } | { refusal: string } | { fault: string };

/** Most bytes of a file: a YAML file takes up to seventy times as many while it is read. */
const maxBytes = 20_000_000;

/** Of this file, which the page loads for its address and then runs as a worker. */
export const address = import.meta.url;

let read: Promise<Reading & { document: unknown; notes: Note[] }> | undefined;

async function answer({ files, main, options }: Question): Promise<Reply> {
  try {
    await loadPatternEngine();
    read ??= readFiles(files, main);
    const { document, notes, ...reading } = await read;
    const plan = planImport(document, options);
    return { planned: { ...reading, plan: { ...plan, notes: [...notes, ...plan.notes] } } };
  } catch (error) {
    return error instanceof DocumentError ? { refusal: error.message } : { fault: error instanceof Error ? error.message : String(error) };
  }
}

if (!('document' in globalThis)) addEventListener('message', async ({ data }: MessageEvent<Question>) => postMessage(await answer(data)));

async function readFiles(files: Files, chosen: string | undefined) {
  const candidates = await findDocuments(files);
  const [main = candidates[0] ?? ''] = candidates.filter((name) => name === chosen);
  return { ...(await join(files, main)), main, candidates };
}

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
