import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { digestIntent } from '../../../../schemas/intent-digest.ts';
import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord, RecordName, RegistryRecord, ServiceRecord } from '../../registry/records.ts';
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
  /**
   * Applies records as they now stand: all of them or, if it throws, none. An intent whose service is not there is left out.
   * @param gone - what does not stand any more, before the records: a service goes with all its intents
   */
  apply(records: readonly RegistryRecord[], gone?: readonly RecordName[]): void;
  /** @param options - how questions are ranked */
  search(query: SearchQuery, options?: IndexSearchOptions): SearchResult;
  /** All that the layers of the ranking say of the best entries: what their weights are chosen by. */
  describeBest(question: string): Ranked[];
  /** Completes the file, and rearranges it for reading, before it is kept as a snapshot. */
  compact(): void;
  close(): void;
}

/** Changes whenever a file made by older code must not be read any more. */
export const indexFormat = 7;

/**
 * `id` is the entry's rowid in the full-text table, which filters by words. It is negative for what only its uid finds (deprecated intents).
 * Definitions stand apart, so that the table that answers are sorted by stays small.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS service (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS intent (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, service_id TEXT NOT NULL, namespace TEXT NOT NULL, name_key TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS definition (id INTEGER PRIMARY KEY, record TEXT NOT NULL, digest TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS intent_service ON intent (service_id);
  CREATE INDEX IF NOT EXISTS intent_namespace ON intent (namespace);
  CREATE INDEX IF NOT EXISTS intent_name ON intent (name_key);
  CREATE INDEX IF NOT EXISTS intent_listed ON intent (uid) WHERE id > 0;
  CREATE TABLE IF NOT EXISTS tag (tag TEXT, id INTEGER, PRIMARY KEY (tag, id)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS tag_id ON tag (id);
  CREATE VIRTUAL TABLE IF NOT EXISTS exact USING fts5 (
    service_name, intent_name, description, content = '', contentless_delete = 1, detail = column, prefix = '1 2',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
  );
`;

type IntentRow = Record<'id', bigint> & Record<'record' | 'service_name', string>;

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

  function removeIntent({ id, record, service_name }: IntentRow): void {
    changes.push({ id: Number(id), document: toDocument(JSON.parse(record), service_name) });
    for (const statement of [write.deleteExact, write.deleteTags, write.deleteIntent, write.deleteDefinition]) statement.run(id);
  }

  function removeByUid(uid: string): void {
    const seen = write.findIntent.get(uid) as IntentRow | undefined;
    if (seen) removeIntent(seen);
  }

  function addIntent(intent: IntentRecord): void {
    const service = write.findService.get(intent.service_id) as { name: string } | undefined;
    if (!service) return;
    const id = intent.deprecated ? -nextId : nextId;
    nextId++;
    const { namespace } = splitIntentUid(intent.intent_uid);
    write.insertIntent.run(id, intent.intent_uid, intent.service_id, foldTag(namespace), nameKey(intent.intent_name));
    write.insertDefinition.run(id, JSON.stringify(intent), digestIntent(intent));
    addEntry(id, intent, service.name);
  }

  function addEntry(id: bigint, intent: IntentRecord, serviceName: string): void {
    write.insertExact.run(id, ...[serviceName, intent.intent_name, intent.description].map((text) => wordsOf(text).join(' ')));
    for (const tag of new Set((intent.tags ?? []).map(foldTag))) write.insertTag.run(tag, id);
    const vector = wordVectors().vectorOf(meaningText(intent, serviceName));
    const added = { uid: intent.intent_uid, gist: gistOf(intent, serviceName), ...(vector && { meaning: toMeaning(vector) }) };
    changes.push({ id: Number(id), document: toDocument(intent, serviceName), added });
  }

  function removeService(serviceId: string): void {
    for (const row of write.findMembers.all(serviceId) as IntentRow[]) removeIntent(row);
    write.deleteService.run(serviceId);
  }

  /** A service that is renamed changes what its intents are found by. */
  function putService({ service_id, service_name }: ServiceRecord): void {
    const renamed = write.findRenamed.all(service_id, service_name) as IntentRow[];
    for (const row of renamed) removeIntent(row);
    write.putService.run(service_id, service_name);
    for (const { record } of renamed) addIntent(JSON.parse(record));
  }

  const { search, describeBest } = prepareSearch(database, { postings, meanings, gists });

  return {
    apply(records, gone = []) {
      changes = [];
      database.exec('BEGIN');
      try {
        for (const { kind, id } of gone) (kind === 'service' ? removeService : removeByUid)(id);
        for (const record of records) if (record.kind === 'service') putService(record);
        for (const record of records) {
          if (record.kind !== 'intent') continue;
          removeByUid(record.intent_uid);
          addIntent(record);
        }
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

const intentRows = `SELECT intent.id, record, service.name AS service_name
  FROM intent JOIN definition USING (id) JOIN service ON service.id = service_id`;

/** Ids are bigints on their way in: a number is bound as a float, which FTS5 does not take for a rowid. */
const prepareWrites = (database: DatabaseSync) => ({
  findService: database.prepare('SELECT name FROM service WHERE id = ?'),
  putService: database.prepare('INSERT OR REPLACE INTO service (id, name) VALUES (?, ?)'),
  deleteService: database.prepare('DELETE FROM service WHERE id = ?'),
  findMembers: readBigInts(database.prepare(`${intentRows} WHERE service_id = ?`)),
  findRenamed: readBigInts(database.prepare(`${intentRows} WHERE service_id = ? AND service.name <> ?`)),
  findIntent: readBigInts(database.prepare(`${intentRows} WHERE uid = ?`)),
  insertIntent: database.prepare('INSERT INTO intent (id, uid, service_id, namespace, name_key) VALUES (?, ?, ?, ?, ?)'),
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
