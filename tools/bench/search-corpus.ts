import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IntentRecord, RegistryRecord, ServiceRecord } from '../../functions/core/registry/records.ts';
import { DocumentError } from '../../registry/import/document.ts';
import { loadFile } from '../../registry/import/load-document.ts';
import { planImport } from '../../registry/import/plan-import.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';

/** An operation of a corpus: one line of `docs.jsonl`. */
export interface Document {
  id: string;
  service_name: string;
  name: string;
  description: string;
  tags: string[];
  input: { name: string; description?: string }[];
  output: { name: string; description?: string }[];
  /** the registered uid; default: a meaningless one */
  uid?: string;
  method?: IntentEndpoint['method'];
}

/** A question and the operations that answer it: one line of `queries.jsonl`. */
export interface JudgedQuery {
  query: string;
  relevant: string[];
}

export interface Corpus {
  name: string;
  documents: Document[];
  queries: JudgedQuery[];
}

const readLines = async <T>(path: string): Promise<T[]> =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));

/**
 * The corpus of the project: operations of invented services, and questions in people's own words. Many questions share no word with the
 * operations that answer them, so no engine that only matches words can answer them all.
 */
export const builtInCorpus = fileURLToPath(new URL('./search-corpus', import.meta.url));

/**
 * Reads `<prefix>docs.jsonl` and `<prefix>queries.jsonl` in a folder.
 * @throws Error if two operations have the same id, or a question refers to an unknown one
 */
export async function readCorpus(folder: string, prefix = ''): Promise<Corpus> {
  const documents = await readLines<Document>(join(folder, `${prefix}docs.jsonl`));
  const queries = await readLines<JudgedQuery>(join(folder, `${prefix}queries.jsonl`));
  const ids = new Set(documents.map(({ id }) => id));
  if (ids.size < documents.length) throw new Error('two operations have the same id');
  for (const { query, relevant } of queries) if (relevant.some((id) => !ids.has(id))) throw new Error(`no such operation: ${query}`);
  return { name: prefix.replace(/\W+$/, '') || basename(folder), documents, queries };
}

/** Reads all such pairs of files in a folder, and its OpenAPI documents if it has questions about them. */
export async function readCorpora(folder: string): Promise<Corpus[]> {
  const names = await readdir(folder);
  const prefixes = names.flatMap((name) => /^(.*)docs\.jsonl$/.exec(name)?.[1] ?? []);
  const judged = await Promise.all(prefixes.sort().map((prefix) => readCorpus(folder, prefix)));
  return names.includes('questions.txt') ? [...judged, await readApis(folder)] : judged;
}

/**
 * Reads OpenAPI documents as an import registers them, and `questions.txt` with lines `api|question|pattern of the uids that answer, without
 * the version`. A document is a file in the folder, or `openapi.yaml` in a subfolder. Omits questions that no operation answers.
 */
export async function readApis(folder: string): Promise<Corpus> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.flatMap((entry) => {
    if (entry.isDirectory()) return existsSync(join(folder, entry.name, 'openapi.yaml')) ? [join(entry.name, 'openapi.yaml')] : [];
    return /\.(json|ya?ml)$/.test(entry.name) ? [entry.name] : [];
  });
  const documents: Document[] = [];
  for (const file of files.sort()) documents.push(...(await readApi(join(folder, file), file.replace(/[.\\/].*/, ''))));
  const lines = (await readFile(join(folder, 'questions.txt'), 'utf8')).split('\n').filter((line) => line.includes('|'));
  const queries = lines.flatMap((line): JudgedQuery[] => {
    const [, query = '', ...pattern] = line.split('|');
    const accepted = new RegExp(`^(?:${pattern.join('|').replace(/\$$/, '')})$`);
    const relevant = documents.filter(({ id }) => accepted.test(id.replace(/:v[0-9.]+$/, ''))).map(({ id }) => id);
    return relevant.length > 0 ? [{ query, relevant }] : [];
  });
  return { name: basename(folder), documents, queries };
}

/** The operations of a document, with an invented host if it has none. */
async function readApi(file: string, name: string): Promise<Document[]> {
  const document = (await loadFile(file, dirname(file))).document;
  const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };
  const { service, intents } = (() => {
    try {
      return planImport(document, options);
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      return planImport(document, { ...options, baseUrl: `https://${name}.example` });
    }
  })();
  return intents
    .filter(({ deprecated }) => deprecated !== true)
    .map(({ intent_uid, intent_name, description, tags = [], input_parameters, output_parameters, endpoint }) => ({
      id: intent_uid,
      uid: intent_uid,
      service_name: service.service_name,
      name: intent_name,
      description,
      tags,
      input: input_parameters.map(toDescribed),
      output: output_parameters.map(toDescribed),
      method: endpoint.method,
    }));
}

const toDescribed = ({ name, description }: { name: string; description?: string | undefined }) => ({
  name,
  ...(description !== undefined && { description }),
});

/** A uid for documents without one. It is meaningless, so that it helps no engine. */
export const uidOf = (at: number): string => `corpus.example:operation-${at}:v1`;

export const idsByUid = (documents: readonly Document[]): Map<string, string> =>
  new Map(documents.map(({ id, uid }, at) => [uid ?? uidOf(at), id]));

const toParameter = ({ name, description }: Document['input'][number]) => ({
  name,
  type: 'string' as const,
  ...(description && { description }),
});

export function toRecords(documents: readonly Document[], from = 0): RegistryRecord[] {
  const names = [...new Set(documents.map(({ service_name }) => service_name))];
  const services = names.map(
    (service_name, at): ServiceRecord => ({
      kind: 'service',
      service_id: `${from}-${at}`,
      service_name,
      service_url: 'https://corpus.example',
      description: '',
      rev: 1,
      intents: 0,
      drafts: 0,
    }),
  );
  const intents = documents.map(
    ({ service_name, name, description, tags, input, output, uid, method = 'POST' }, at): IntentRecord => ({
      kind: 'intent',
      service_id: `${from}-${names.indexOf(service_name)}`,
      intent_uid: uid ?? uidOf(from + at),
      intent_name: name,
      description,
      tags,
      input_parameters: input.map(toParameter),
      output_parameters: output.map(toParameter),
      endpoint: { url: 'https://corpus.example', method, content_type: 'application/json' },
      rev: 1,
    }),
  );
  return [...services, ...intents];
}
