import { readFile } from 'node:fs/promises';
import type { Corpus, Document } from '../search-corpus.ts';

const lines = async (name: string): Promise<string[]> =>
  (await readFile(new URL(name, import.meta.url), 'utf8')).split('\n').filter((line) => line !== '');

const cells = (line: string): string[] => line.split('|').map((cell) => cell.trim());

const named = (list = '') => (list === '' ? [] : list.split(' ').map((name) => ({ name })));

/** `@ <key> | <service> | <tags>` begins a service; `<name> | <what it does> | <tags> | <inputs> | <outputs>` is one of its operations. */
function parseOperations(text: string[]): Document[] {
  const documents: Document[] = [];
  let [key = '', service_name = '', tags = ''] = [''];
  for (const line of text) {
    if (line.startsWith('@ ')) {
      [key = '', service_name = '', tags = ''] = cells(line.slice(2));
      continue;
    }
    const [name = '', description = '', more = '', input, output] = cells(line);
    documents.push({
      id: `${key}/${name}`,
      service_name,
      name,
      description,
      tags: `${tags},${more}`.split(',').map((tag) => tag.trim()),
      input: named(input),
      output: named(output),
    });
  }
  return documents;
}

/** `<question> => <ids of the operations that answer it>` */
function parseQuestion(line: string): Corpus['queries'][number] {
  const [query = '', relevant = ''] = line.split(' => ');
  return { query, relevant: relevant.split(' ') };
}

/**
 * The corpus that comes with the project: operations of invented services, and questions as people ask them, in words
 * of their own. Many share none with the operations that answer
 * them, so no engine that matches words can answer all.
 * @throws Error if a question names an operation that does not exist
 */
export async function builtInCorpus(): Promise<Corpus> {
  const documents = parseOperations(await lines('operations.txt'));
  const queries = (await lines('questions.txt')).map(parseQuestion);
  const ids = new Set(documents.map(({ id }) => id));
  if (ids.size < documents.length) throw new Error('two operations have the same id');
  for (const { query, relevant } of queries) if (relevant.some((id) => !ids.has(id))) throw new Error(`no such operation: ${query}`);
  return { documents, queries };
}
