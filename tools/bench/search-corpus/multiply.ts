import type { RegistryRecord } from '../../../functions/core/registry/records.ts';
import { type Document, toRecords } from '../search-corpus.ts';

/** Reproducible random numbers from 0 to 1 (a linear congruential generator). */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

export const pageSize = 1_000;

/**
 * A page of a registry of any size. Each operation mixes words of three operations of the corpus, so that word frequencies are as in the
 * corpus.
 * @param size - size of the registry, in intents
 * @param from - number of intents in the preceding pages
 * @returns services and their intents
 */
export const multiply = (documents: readonly Document[], size: number, from: number): RegistryRecord[] =>
  numberRecords(toRecords(mix(documents, size, from)), from);

export function mix(documents: readonly Document[], size: number, from: number): Document[] {
  const next = numbers(from + 1);
  const pick = () => documents[Math.floor(next() * documents.length)] as Document;
  return Array.from({ length: Math.min(pageSize, size - from) }, (_, at) => {
    const [{ uid: _uid, ...one }, two, three] = [pick(), pick(), pick()];
    return {
      ...one,
      service_name: `${one.service_name} ${Math.floor((from + at) / 50)}`,
      description: `${one.description}. ${two.description}. ${three.description}.`,
      tags: [...new Set([...one.tags, ...two.tags])],
    };
  });
}

/** Makes the ids and uids of a page unique. */
const numberRecords = (records: RegistryRecord[], from: number): RegistryRecord[] =>
  records.map((record) => ({
    ...record,
    service_id: `${from}-${record.service_id}`,
    ...(record.kind === 'intent' && {
      intent_uid: record.intent_uid.replace(/operation-(\d+)/, (_, at) => `operation-${Number(at) + from}`),
    }),
  }));
