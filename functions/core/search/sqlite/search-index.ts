import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { digestIntent } from '../../../../schemas/intent-digest.ts';
import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord, RecordName, RegistryRecord, ServiceRecord } from '../../registry/records.ts';
import { embeddedText, type SearchDocument, toDocument } from '../document.ts';
import { nameKey, wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import { openBlobs, openDatabase } from './database.ts';
import { openEmbeddings, type Quantized, quantize } from './embeddings.ts';
import { openPostings } from './postings.ts';
import { prepareSearch } from './search.ts';
import { hashIntent, openTermOverlaps, type TermHashes } from './term-overlap.ts';

/** Increment whenever new code cannot read older files. */
export const indexFormat = 9;

/**
 * `id` is the rowid in the full-text table, which filters by words; it is negative for deprecated intents, which are found only by uid.
 * Definitions have a separate table, so that the table that is sorted stays small.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS service (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS intent (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, service_id TEXT NOT NULL, namespace TEXT NOT NULL, name_key TEXT NOT NULL,
    method TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS definition (id INTEGER PRIMARY KEY, record TEXT NOT NULL, digest TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS intent_service ON intent (service_id);
  CREATE INDEX IF NOT EXISTS intent_namespace ON intent (namespace);
  CREATE INDEX IF NOT EXISTS intent_method ON intent (method);
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

/** A change of the in-memory structures, applied after the transaction commits. */
interface Change {
  id: number;
  document: SearchDocument;
  /** present if the entry is added, absent if it is removed */
  added?: { uid: string; hashes: TermHashes; embedding?: Quantized };
}

/**
 * Opens or creates an index file, which belongs to this process.
 * @param file - path, or `:memory:`
 */
export function openSearchIndex(file: string) {
  const database = openDatabase(file);
  database.exec(schema);
  const write = prepareWrites(database);
  const embeddings = openEmbeddings(openBlobs(database, 'embedding'));
  const overlaps = openTermOverlaps(openBlobs(database, 'overlap'));
  const postings = openPostings(openBlobs(database, 'posting'));
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
    write.insertIntent.run(
      id,
      intent.intent_uid,
      intent.service_id,
      foldTag(namespace),
      nameKey(intent.intent_name),
      intent.endpoint.method,
    );
    write.insertDefinition.run(id, JSON.stringify(intent), digestIntent(intent));
    addEntry(id, intent, service.name);
  }

  function addEntry(id: bigint, intent: IntentRecord, serviceName: string): void {
    write.insertExact.run(id, ...[serviceName, intent.intent_name, intent.description].map((text) => wordsOf(text).join(' ')));
    for (const tag of new Set((intent.tags ?? []).map(foldTag))) write.insertTag.run(tag, id);
    const vector = wordVectors().embed(embeddedText(intent, serviceName));
    const added = { uid: intent.intent_uid, hashes: hashIntent(intent, serviceName), ...(vector && { embedding: quantize(vector) }) };
    changes.push({ id: Number(id), document: toDocument(intent, serviceName), added });
  }

  function removeService(serviceId: string): void {
    for (const row of write.findMembers.all(serviceId) as IntentRow[]) removeIntent(row);
    write.deleteService.run(serviceId);
  }

  /** Stores a service, and reindexes its intents if it is renamed. */
  function putService({ service_id, service_name }: ServiceRecord): void {
    const renamed = write.findRenamed.all(service_id, service_name) as IntentRow[];
    for (const row of renamed) removeIntent(row);
    write.putService.run(service_id, service_name);
    for (const { record } of renamed) addIntent(JSON.parse(record));
  }

  const { search, forgetVerdicts } = prepareSearch(database, { postings, embeddings, overlaps });

  return {
    /**
     * Applies current records atomically. Skips intents whose service is missing.
     * @param gone - records to remove first; removing a service removes its intents
     */
    apply(records: readonly RegistryRecord[], gone: readonly RecordName[] = []): void {
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
      forgetVerdicts();
      for (const { id, document, added } of changes) {
        if (added) {
          postings.add(id, document);
          overlaps.set(id, added.uid, added.hashes);
          if (added.embedding) embeddings.set(id, added.embedding);
        } else {
          postings.remove(id, document);
          overlaps.remove(id);
          embeddings.remove(id);
        }
      }
    },
    search,
    /** Saves the in-memory structures to the file and optimises it for reading, before it becomes a snapshot. */
    compact: () => {
      for (const structure of [postings, embeddings, overlaps]) structure.save();
      database.exec(`INSERT INTO exact (exact) VALUES ('optimize')`);
    },
    close: () => database.close(),
  };
}

export type SearchIndex = ReturnType<typeof openSearchIndex>;

const intentRows = `SELECT intent.id, record, service.name AS service_name
  FROM intent JOIN definition USING (id) JOIN service ON service.id = service_id`;

/** Ids are bound as bigints: numbers are bound as floats, which FTS5 refuses. */
const prepareWrites = (database: DatabaseSync) => ({
  findService: database.prepare('SELECT name FROM service WHERE id = ?'),
  putService: database.prepare('INSERT OR REPLACE INTO service (id, name) VALUES (?, ?)'),
  deleteService: database.prepare('DELETE FROM service WHERE id = ?'),
  findMembers: readBigInts(database.prepare(`${intentRows} WHERE service_id = ?`)),
  findRenamed: readBigInts(database.prepare(`${intentRows} WHERE service_id = ? AND service.name <> ?`)),
  findIntent: readBigInts(database.prepare(`${intentRows} WHERE uid = ?`)),
  insertIntent: database.prepare('INSERT INTO intent (id, uid, service_id, namespace, name_key, method) VALUES (?, ?, ?, ?, ?, ?)'),
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
