import { DatabaseSync } from 'node:sqlite';

/** @param file - path, or `:memory:` */
export function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
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
