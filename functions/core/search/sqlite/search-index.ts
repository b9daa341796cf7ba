import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { digestIntent } from '../../../../schemas/intent-digest.ts';
import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord, RegistryRecord, ServiceRecord } from '../../registry/records.ts';
import { minUlidAt } from '../../ulid.ts';
import { meaningText, type SearchDocument, toDocument } from '../document.ts';
import { type Gist, gistOf } from '../likeness.ts';
import type { SearchResult } from '../search-engine.ts';
import { nameKey, wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import { openDatabase } from './database.ts';
import { openGists } from './gists.ts';
import { type Meaning, openMeanings, toMeaning } from './meanings.ts';
import { openParts } from './parts.ts';
import { openPostings } from './postings.ts';
import type { Ranked } from './rank.ts';
import { type IndexSearchOptions, prepareSearch } from './search.ts';

/** Everything that a registry's live intents are found by. */
export interface SearchIndex {
  /** Applies records as they now stand: all of them or, if it throws, none. Intents are found only while their service is live too. */
  apply(records: readonly RegistryRecord[]): void;
  /** @param options - how questions are ranked */
  search(query: SearchQuery, options?: IndexSearchOptions): SearchResult;
  /** All that the layers of the ranking say of the best entries: what their weights are chosen by. */
  describeBest(question: string): Ranked[];
  /** Completes the file, and rearranges it for reading, before it is kept as a snapshot. */
  compact(): void;
  close(): void;
}

/** Changes whenever a file made by older code must not be read any more. */
export const indexFormat = 5;

/**
 * `id` is the entry's rowid in the full-text table, which filters by words. It is negative for what only its uid finds (deprecated intents).
 * An intent whose service is not live has no entry there, and no postings. Definitions stand apart, so that the table that answers are sorted by stays small.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS service (id TEXT PRIMARY KEY, name TEXT NOT NULL, is_live INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS intent (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, service_id TEXT NOT NULL, namespace TEXT NOT NULL,
    name_key TEXT NOT NULL, is_listed INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS definition (id INTEGER PRIMARY KEY, record TEXT NOT NULL, digest TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS intent_service ON intent (service_id);
  CREATE INDEX IF NOT EXISTS intent_namespace ON intent (namespace);
  CREATE INDEX IF NOT EXISTS intent_name ON intent (name_key) WHERE is_listed = 1;
  CREATE INDEX IF NOT EXISTS intent_listed ON intent (uid) WHERE is_listed = 1 AND id > 0;
  CREATE TABLE IF NOT EXISTS tag (tag TEXT, id INTEGER, PRIMARY KEY (tag, id)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS tag_id ON tag (id);
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
  /** whether it has an entry */
  is_listed: bigint;
};

/** What a transaction does to what is kept in memory. */
interface Change {
  id: number;
  document: SearchDocument;
  /** of an entry that is added */
  added?: { uid: string; gist: Gist; meaning?: Meaning };
}

/**
 * Opens an index file, or makes one. The file belongs to one process and does not survive it.
 * @param file - path, or `:memory:`
 */
export function openSearchIndex(file: string): SearchIndex {
  const database = openDatabase(file);
  database.exec(schema);
  const write = prepareWrites(database);
  const meanings = openMeanings(openParts(database, 'meaning'));
  const gists = openGists(openParts(database, 'gist'));
  const postings = openPostings(openParts(database, 'posting'));
  let changes: Change[] = [];
  const lastId = database.prepare('SELECT max(abs(id)) AS id FROM intent').get()?.id ?? 0;
  let nextId = BigInt(lastId as number) + 1n;

  /** @param serviceName - under which it was added */
  function removeIntent({ id, record, is_listed }: IntentRow, serviceName: string): void {
    if (is_listed) {
      changes.push({ id: Number(id), document: toDocument(JSON.parse(record), serviceName) });
      write.deleteExact.run(id);
      write.deleteTags.run(id);
    }
    write.deleteIntent.run(id);
    write.deleteDefinition.run(id);
  }

  function addIntent(intent: IntentRecord): void {
    const service = write.findService.get(intent.service_id) as ServiceRow | undefined;
    const id = intent.deprecated ? -nextId : nextId;
    nextId++;
    const { namespace } = splitIntentUid(intent.intent_uid);
    const key = nameKey(intent.intent_name);
    write.insertIntent.run(id, intent.intent_uid, intent.service_id, foldTag(namespace), key, service?.is_live ?? 0);
    write.insertDefinition.run(id, JSON.stringify(intent), digestIntent(intent));
    if (service?.is_live) addEntry(id, intent, service.name);
  }

  function addEntry(id: bigint, intent: IntentRecord, serviceName: string): void {
    write.insertExact.run(id, ...[serviceName, intent.intent_name, intent.description].map((text) => wordsOf(text).join(' ')));
    for (const tag of new Set((intent.tags ?? []).map(foldTag))) write.insertTag.run(tag, id);
    const vector = wordVectors().vectorOf(meaningText(intent, serviceName));
    const added = { uid: intent.intent_uid, gist: gistOf(intent, serviceName), ...(vector && { meaning: toMeaning(vector) }) };
    changes.push({ id: Number(id), document: toDocument(intent, serviceName), added });
  }

  function replaceIntent(intent: IntentRecord): void {
    const seen = write.findIntent.get(intent.intent_uid) as (IntentRow & { service_name: string }) | undefined;
    if (seen) removeIntent(seen, seen.service_name);
    if (intent.deleted_at === undefined) addIntent(intent);
  }

  /** A service that is created, deleted or renamed changes what its intents are found by. */
  function replaceService(service: ServiceRecord): void {
    const seen = write.findService.get(service.service_id) as ServiceRow | undefined;
    const [nameBefore, wasLive] = [seen?.name ?? '', Boolean(seen?.is_live)];
    // nothing announces the intents that go with a deleted service: an index that was not searched meanwhile still has them
    const older = service.emptied_at === undefined ? [] : write.findOlder.all(service.service_id, minUlidAt(service.emptied_at));
    for (const row of older as IntentRow[]) removeIntent(row, nameBefore);
    write.putService.run(service.service_id, service.service_name, Number(service.deleted_at === undefined));
    if (nameBefore === service.service_name && wasLive === (service.deleted_at === undefined)) return;
    for (const row of write.findMembers.all(service.service_id) as IntentRow[]) {
      removeIntent(row, nameBefore);
      addIntent(JSON.parse(row.record));
    }
  }

  const { search, describeBest } = prepareSearch(database, { postings, meanings, gists });

  return {
    apply(records) {
      changes = [];
      database.exec('BEGIN');
      try {
        for (const record of records) if (record.kind === 'service') replaceService(record);
        for (const record of records) if (record.kind === 'intent') replaceIntent(record);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
      for (const { id, document, added } of changes) {
        if (added) {
          postings.add(id, document);
          gists.set(id, added.uid, added.gist);
          if (added.meaning) meanings.set(id, added.meaning);
        } else {
          postings.remove(id, document);
          gists.remove(id);
          meanings.remove(id);
        }
      }
    },
    search,
    describeBest,
    compact: () => {
      for (const layer of [postings, meanings, gists]) layer.save();
      database.exec(`INSERT INTO exact (exact) VALUES ('optimize')`);
    },
    close: () => database.close(),
  };
}

/** Ids are bigints on their way in: a number is bound as a float, which FTS5 does not take for a rowid. */
const prepareWrites = (database: DatabaseSync) => ({
  findService: database.prepare('SELECT name, is_live FROM service WHERE id = ?'),
  putService: database.prepare('INSERT OR REPLACE INTO service (id, name, is_live) VALUES (?, ?, ?)'),
  findMembers: readBigInts(database.prepare('SELECT id, record, is_listed FROM intent JOIN definition USING (id) WHERE service_id = ?')),
  findOlder: readBigInts(
    database.prepare("SELECT id, record, is_listed FROM intent JOIN definition USING (id) WHERE service_id = ? AND record ->> 'rev' < ?"),
  ),
  findIntent: readBigInts(
    database.prepare(
      `SELECT intent.id, record, is_listed, coalesce(service.name, '') AS service_name
       FROM intent JOIN definition USING (id) LEFT JOIN service ON service.id = service_id WHERE uid = ?`,
    ),
  ),
  insertIntent: database.prepare('INSERT INTO intent (id, uid, service_id, namespace, name_key, is_listed) VALUES (?, ?, ?, ?, ?, ?)'),
  insertDefinition: database.prepare('INSERT INTO definition (id, record, digest) VALUES (?, ?, ?)'),
  deleteDefinition: database.prepare('DELETE FROM definition WHERE id = ?'),
  deleteIntent: database.prepare('DELETE FROM intent WHERE id = ?'),
  insertExact: database.prepare('INSERT INTO exact (rowid, service_name, intent_name, description) VALUES (?, ?, ?, ?)'),
  deleteExact: database.prepare('DELETE FROM exact WHERE rowid = ?'),
  insertTag: database.prepare('INSERT INTO tag (tag, id) VALUES (?, ?)'),
  deleteTags: database.prepare('DELETE FROM tag WHERE id = ?'),
});

function readBigInts(statement: StatementSync): StatementSync {
  statement.setReadBigInts(true);
  return statement;
}
