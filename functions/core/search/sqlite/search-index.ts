import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import type { IntentRecord, RegistryRecord, ServiceRecord } from '../../store/records.ts';
import { minUlidAt } from '../../ulid.ts';
import { fields, meaningText, toDocument } from '../document.ts';
import { gistOf, writeGist } from '../likeness.ts';
import { foldTag } from '../query.ts';
import type { SearchResult } from '../search-engine.ts';
import { wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import { openDatabase } from './database.ts';
import { type Meaning, openMeanings, toMeaning } from './meanings.ts';
import type { Ranked, RankingOptions } from './rank.ts';
import { prepareSearch } from './search.ts';

/** Everything that a registry's live intents are found by. */
export interface SearchIndex {
  /** Applies records as they now stand: all of them or, if it throws, none. Intents are found only while their service is live too. */
  apply(records: readonly RegistryRecord[]): void;
  /** @param options - how questions are ranked */
  search(query: SearchQuery, options?: RankingOptions): SearchResult;
  /** All that the layers of the ranking say of the best entries: what their weights are chosen by. */
  describeBest(question: string): Ranked[];
  /** Completes the file, and rearranges it for reading, before it is kept as a snapshot. */
  compact(): void;
  close(): void;
}

/** Changes whenever a file made by older code must not be read any more. */
export const indexFormat = 2;

/**
 * `id` is the entry's rowid in both full-text tables. It is negative for what only its uid finds (deprecated intents), so that
 * the others are one range, which the full-text tables skip to. An intent whose service is not live has no entry there.
 * Definitions and gists stand apart, so that the table that answers are sorted by stays small.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS service (id TEXT PRIMARY KEY, name TEXT NOT NULL, is_live INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS intent (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, service_id TEXT NOT NULL, namespace TEXT NOT NULL,
    is_listed INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS definition (id INTEGER PRIMARY KEY, record TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS gist (id INTEGER PRIMARY KEY, gist TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS intent_service ON intent (service_id);
  CREATE INDEX IF NOT EXISTS intent_namespace ON intent (namespace);
  CREATE INDEX IF NOT EXISTS intent_listed ON intent (uid) WHERE is_listed = 1 AND id > 0;
  CREATE TABLE IF NOT EXISTS tag (tag TEXT, id INTEGER, PRIMARY KEY (tag, id)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS tag_id ON tag (id);
  CREATE VIRTUAL TABLE IF NOT EXISTS ranked USING fts5 (
    ${fields.join(', ')}, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
  );
  CREATE VIRTUAL TABLE IF NOT EXISTS exact USING fts5 (
    service_name, intent_name, description, content = '', contentless_delete = 1, detail = column, prefix = '1 2',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
  );
`;

interface ServiceRow {
  name: string;
  is_live: number;
}

type IntentRow = {
  id: bigint;
  record: string;
};

/**
 * Opens an index file, or makes one. The file belongs to one process and does not survive it.
 * @param file - path, or `:memory:`
 */
export function openSearchIndex(file: string): SearchIndex {
  const database = openDatabase(file);
  database.exec(schema);
  const write = prepareWrites(database);
  const meanings = openMeanings(database);
  /** what the transaction has changed; undefined for what it removed */
  const changed = new Map<number, Meaning | undefined>();
  const lastId = database.prepare('SELECT max(abs(id)) AS id FROM intent').get()?.id ?? 0;
  let nextId = BigInt(lastId as number) + 1n;

  function removeEntry(id: bigint): void {
    write.deleteRanked.run(id);
    write.deleteExact.run(id);
    write.deleteTags.run(id);
    write.deleteGist.run(id);
    changed.set(Number(id), undefined);
  }

  function removeIntent(id: bigint): void {
    removeEntry(id);
    write.deleteIntent.run(id);
    write.deleteDefinition.run(id);
  }

  function replaceIntent(intent: IntentRecord): void {
    const seen = write.findIntent.get(intent.intent_uid) as { id: bigint } | undefined;
    if (seen) removeIntent(seen.id);
    if (intent.deleted_at !== undefined) return;
    const service = write.findService.get(intent.service_id) as ServiceRow | undefined;
    const id = intent.deprecated ? -nextId : nextId;
    nextId++;
    const { namespace } = splitIntentUid(intent.intent_uid);
    write.insertIntent.run(id, intent.intent_uid, intent.service_id, foldTag(namespace), service?.is_live ?? 0);
    write.insertDefinition.run(id, JSON.stringify(intent));
    if (service?.is_live) addEntry(id, intent, service.name);
  }

  function addEntry(id: bigint, intent: IntentRecord, serviceName: string): void {
    const document = toDocument(intent, serviceName);
    write.insertRanked.run(id, ...fields.map((field) => document[field]));
    write.insertExact.run(id, ...[serviceName, intent.intent_name, intent.description].map((text) => wordsOf(text).join(' ')));
    for (const tag of new Set((intent.tags ?? []).map(foldTag))) write.insertTag.run(tag, id);
    write.insertGist.run(id, writeGist(gistOf(intent, serviceName)));
    const vector = wordVectors().vectorOf(meaningText(intent, serviceName));
    if (vector) changed.set(Number(id), toMeaning(vector));
  }

  /** Nothing announces the intents that go with a deleted service: an index that was not searched meanwhile still has them. */
  function removeOlder(serviceId: string, timeMs: number): void {
    for (const { id } of write.findOlder.all(serviceId, minUlidAt(timeMs)) as Pick<IntentRow, 'id'>[]) removeIntent(id);
  }

  /** A service that is created, deleted or renamed changes what its intents are found by. */
  function replaceService(service: ServiceRecord): void {
    const seen = write.findService.get(service.service_id) as ServiceRow | undefined;
    const isLive = service.deleted_at === undefined;
    if (service.emptied_at !== undefined) removeOlder(service.service_id, service.emptied_at);
    write.putService.run(service.service_id, service.service_name, Number(isLive));
    if (seen?.name === service.service_name && Boolean(seen.is_live) === isLive) return;
    for (const { id, record } of write.findMembers.all(service.service_id) as IntentRow[]) {
      removeEntry(id);
      if (isLive) addEntry(id, JSON.parse(record), service.service_name);
    }
    write.listMembers.run(Number(isLive), service.service_id);
  }

  const { search, describeBest } = prepareSearch(database, meanings);

  return {
    apply(records) {
      changed.clear();
      database.exec('BEGIN');
      try {
        for (const record of records) if (record.kind === 'service') replaceService(record);
        for (const record of records) if (record.kind === 'intent') replaceIntent(record);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
      for (const [id, meaning] of changed) {
        if (meaning) meanings.set(id, meaning);
        else meanings.remove(id);
      }
    },
    search,
    describeBest,
    compact: () => {
      meanings.save();
      database.exec(`INSERT INTO ranked (ranked) VALUES ('optimize'); INSERT INTO exact (exact) VALUES ('optimize')`);
    },
    close: () => database.close(),
  };
}

/** Ids are bigints on their way in: a number is bound as a float, which FTS5 does not take for a rowid. */
const prepareWrites = (database: DatabaseSync) => ({
  findService: database.prepare('SELECT name, is_live FROM service WHERE id = ?'),
  putService: database.prepare('INSERT OR REPLACE INTO service (id, name, is_live) VALUES (?, ?, ?)'),
  findMembers: readBigInts(database.prepare('SELECT id, record FROM intent JOIN definition USING (id) WHERE service_id = ?')),
  findOlder: readBigInts(
    database.prepare("SELECT id FROM intent JOIN definition USING (id) WHERE service_id = ? AND record ->> 'rev' < ?"),
  ),
  listMembers: database.prepare('UPDATE intent SET is_listed = ? WHERE service_id = ?'),
  findIntent: readBigInts(database.prepare('SELECT id FROM intent WHERE uid = ?')),
  insertIntent: database.prepare('INSERT INTO intent (id, uid, service_id, namespace, is_listed) VALUES (?, ?, ?, ?, ?)'),
  insertDefinition: database.prepare('INSERT INTO definition (id, record) VALUES (?, ?)'),
  deleteDefinition: database.prepare('DELETE FROM definition WHERE id = ?'),
  deleteIntent: database.prepare('DELETE FROM intent WHERE id = ?'),
  insertRanked: database.prepare(`INSERT INTO ranked (rowid, ${fields.join(', ')}) VALUES (?, ${fields.map(() => '?').join(', ')})`),
  deleteRanked: database.prepare('DELETE FROM ranked WHERE rowid = ?'),
  insertExact: database.prepare('INSERT INTO exact (rowid, service_name, intent_name, description) VALUES (?, ?, ?, ?)'),
  deleteExact: database.prepare('DELETE FROM exact WHERE rowid = ?'),
  insertTag: database.prepare('INSERT INTO tag (tag, id) VALUES (?, ?)'),
  insertGist: database.prepare('INSERT INTO gist (id, gist) VALUES (?, ?)'),
  deleteGist: database.prepare('DELETE FROM gist WHERE id = ?'),
  deleteTags: database.prepare('DELETE FROM tag WHERE id = ?'),
});

function readBigInts(statement: StatementSync): StatementSync {
  statement.setReadBigInts(true);
  return statement;
}
