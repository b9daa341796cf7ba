import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IntentRecord, RegistryRecord, ServiceRecord } from '../../functions/core/store/records.ts';

/** An operation of a corpus: one line of `docs.jsonl`. */
export interface Document {
  id: string;
  service_name: string;
  name: string;
  description: string;
  tags: string[];
  input: { name: string; description?: string }[];
  output: { name: string; description?: string }[];
}

/** A question and the operations that answer it: one line of `queries.jsonl`. */
export interface JudgedQuery {
  query: string;
  relevant: string[];
}

export type Corpus = Awaited<ReturnType<typeof readCorpus>>;

const readLines = async <T>(path: string): Promise<T[]> =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));

/**
 * The corpus that comes with the project: operations of invented services, and questions as people ask them, in words
 * of their own. Many share none with the operations that answer them, so no engine that matches words can answer all.
 */
export const builtInCorpus = fileURLToPath(new URL('./search-corpus', import.meta.url));

/**
 * Reads `<prefix>docs.jsonl` and `<prefix>queries.jsonl` of a folder.
 * @throws Error if two operations have the same id, or a question names one that does not exist
 */
export async function readCorpus(folder: string, prefix = '') {
  const documents = await readLines<Document>(join(folder, `${prefix}docs.jsonl`));
  const queries = await readLines<JudgedQuery>(join(folder, `${prefix}queries.jsonl`));
  const ids = new Set(documents.map(({ id }) => id));
  if (ids.size < documents.length) throw new Error('two operations have the same id');
  for (const { query, relevant } of queries) if (relevant.some((id) => !ids.has(id))) throw new Error(`no such operation: ${query}`);
  return { documents, queries };
}

/** The uid that a document is registered under. It carries no meaning, so that the ids of a corpus do not help any engine. */
export const uidOf = (at: number): string => `corpus.example:operation-${at}:v1`;

const toParameter = ({ name, description }: Document['input'][number]) => ({
  name,
  type: 'string' as const,
  ...(description && { description }),
});

/** A corpus as records of a registry; its documents are numbered from `from`. */
export function toRecords(documents: readonly Document[], from = 0): RegistryRecord[] {
  const names = [...new Set(documents.map(({ service_name }) => service_name))];
  const services = names.map(
    (service_name, at): ServiceRecord => ({
      kind: 'service',
      service_id: `${from}-${at}`,
      service_name,
      service_url: 'https://corpus.example',
      description: '',
      rev: '',
      name_claim: '',
    }),
  );
  const intents = documents.map(
    ({ service_name, name, description, tags, input, output }, at): IntentRecord => ({
      kind: 'intent',
      service_id: `${from}-${names.indexOf(service_name)}`,
      intent_uid: uidOf(from + at),
      intent_name: name,
      description,
      tags,
      input_parameters: input.map(toParameter),
      output_parameters: output.map(toParameter),
      endpoint: { url: 'https://corpus.example', method: 'POST', content_type: 'application/json' },
      rev: '',
    }),
  );
  return [...services, ...intents];
}
