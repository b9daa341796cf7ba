import { DocumentError, decodeText } from '../../../registry/import/document.ts';
import { findDocuments, isPartName, joinFiles } from '../../../registry/import/join-files.ts';
import type { Note } from '../../../registry/import/node.ts';
import type { ImportOptions, ImportPlan } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { loadPatternEngine } from '../../in-browser/module.ts';
import type { Dropped } from './dropped.ts';

/** What was read of the files that were dropped. */
export interface Reading {
  main: string;
  /** those that could be it, the likeliest first */
  candidates: string[];
  /** every file that anything may have been taken from */
  files: string[];
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

if (!('document' in globalThis))
  addEventListener('message', async ({ data }: MessageEvent<Question>) => postMessage(JSON.stringify(await answer(data))));

async function readFiles(files: Files, chosen: string | undefined) {
  const candidates = await findDocuments([...files.keys()], async (name) => bytesOf(files.get(name)));
  const [main = candidates[0] ?? ''] = candidates.filter((name) => name === chosen);
  return { ...(await join(files, main)), main, candidates };
}

type Files = Dropped['files'];

async function bytesOf(file = new File([], '')): Promise<Uint8Array> {
  if (file.size > maxBytes)
    throw new DocumentError(
      `${file.name} has ${Math.ceil(file.size / 1e6)} MB, and the page reads at most ${maxBytes / 1e6}. Use the command line: it has no such limit.`,
    );
  return new Uint8Array(await file.arrayBuffer());
}

/** The document with the files that it refers to, each of which has an address of this kind. */
async function join(files: Files, main: string) {
  const folder = 'https://dropped.invalid/files/';
  const addressOf = (path: string) => folder + path.split('/').map(encodeURIComponent).join('/');
  const byAddress = new Map([...files].map(([path, file]) => [addressOf(path), { path, file }]));
  const { left, ...loaded } = await joinFiles(decodeText(await bytesOf(files.get(main))), {
    origin: addressOf(main),
    find: (reference, from) => {
      const url = URL.parse(reference, from)?.href ?? '';
      return isPartName(byAddress.get(url)?.path ?? '') ? url : undefined;
    },
    read: (address) => bytesOf(byAddress.get(address)?.file),
    nameOf: (address) => byAddress.get(address)?.path ?? address,
  });
  return { ...loaded, missing: left };
}
