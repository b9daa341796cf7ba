import { DocumentError, decodeText, maxFileBytes, TooLarge } from '../../../registry/import/document.ts';
import { findDocuments, isPartName, joinFiles } from '../../../registry/import/join-files.ts';
import { type Note, percentDecoded } from '../../../registry/import/node.ts';
import type { ImportOptions, ImportPlan } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { loadPatternEngine } from '../../in-browser/module.ts';
import type { Dropped } from './dropped.ts';

/** What was read from the dropped files. */
export interface Reading {
  main: string;
  /** files that could be the document, likeliest first */
  candidates: string[];
  /** all files that contributed to the document */
  files: string[];
  /** references to files that are not among these, and to URLs */
  missing: string[];
}

/** A request to the worker, which may be repeated with other header fields. */
export interface Question {
  files: Dropped['files'];
  main: string | undefined;
  options: ImportOptions;
}

export type Planned = Reading & { plan: ImportPlan };

export type Reply = { planned: Planned } | { refusal: string } | { fault: string };

/** URL of this file, which the page imports to get the URL, and then runs as a worker. */
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
  if (file.size > maxFileBytes) throw new TooLarge();
  return new Uint8Array(await file.arrayBuffer());
}

/** Joins the document with the files that it refers to, under invented URLs. */
async function join(files: Files, main: string) {
  const folder = 'https://dropped.invalid/files/';
  const addressOf = (path: string) => folder + path.split('/').map(encodeURIComponent).join('/');
  const byAddress = new Map([...files].map(([path, file]) => [addressOf(path), { path, file }]));
  const { left, ...loaded } = await joinFiles(decodeText(await bytesOf(files.get(main))), {
    origin: addressOf(main),
    find: (reference, from) => {
      const url = URL.parse(reference, from)?.href ?? '';
      // a reference may encode other characters than an address here
      const address = url.startsWith(folder) ? addressOf(percentDecoded(url.slice(folder.length))) : '';
      return isPartName(byAddress.get(address)?.path ?? '') ? address : undefined;
    },
    read: (address) => bytesOf(byAddress.get(address)?.file),
    nameOf: (address) => byAddress.get(address)?.path ?? address,
  });
  return { ...loaded, missing: left };
}
