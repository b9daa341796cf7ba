import type { DatabaseSync } from 'node:sqlite';

const advice =
  'Use Node.js 24 or later with FTS5 in node:sqlite, as the binaries from nodejs.org have it, or choose another search engine.';

/** Loaded at run time, so that a Node.js without the module gives a clear message. */
const sqlite = process.getBuiltinModule?.('node:sqlite');

export function requireFullTextSearch(): void {
  if (!sqlite) throw new Error(`search needs the module node:sqlite, which Node.js ${process.version} lacks. ${advice}`);
  const database = new sqlite.DatabaseSync(':memory:');
  try {
    database.exec(`CREATE VIRTUAL TABLE probe USING fts5 (text, content = '', contentless_delete = 1)`);
  } catch (cause) {
    throw new Error(`search needs FTS5 with contentless_delete (SQLite 3.43), which Node.js ${process.version} lacks. ${advice}`, {
      cause,
    });
  } finally {
    database.close();
  }
}

/** @param file - path, or `:memory:` */
export function openDatabase(file: string): DatabaseSync {
  requireFullTextSearch();
  const database = new (sqlite as NonNullable<typeof sqlite>).DatabaseSync(file);
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000');
  return database;
}

/**
 * Opens named binary values in the database file.
 * @param prefix - namespace for the names of one structure
 */
export function openBlobs(database: DatabaseSync, prefix: string) {
  database.exec('CREATE TABLE IF NOT EXISTS blob (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID');
  const read = database.prepare('SELECT content FROM blob WHERE name = ?');
  const put = database.prepare('INSERT OR REPLACE INTO blob (name, content) VALUES (?, ?)');
  return {
    /** Reads a value; empty if it does not exist. */
    read(name: string): ArrayBuffer {
      const content = read.get(`${prefix} ${name}`)?.content;
      if (!(content instanceof Uint8Array)) return new ArrayBuffer(0);
      const { buffer, byteLength } = content;
      // avoids a copy if the buffer contains nothing else
      return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : content.slice().buffer;
    },
    write(name: string, { buffer, byteOffset, byteLength }: ArrayBufferView): void {
      put.run(`${prefix} ${name}`, new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    },
  };
}

export type Blobs = ReturnType<typeof openBlobs>;
