import type { DatabaseSync } from 'node:sqlite';

/** Large values that a file keeps beside its tables. */
export interface Parts {
  /** Empty if the file does not keep it. */
  read(name: string): ArrayBuffer;
  write(name: string, content: ArrayBufferView): void;
}

/** @param owner - whose parts they are: names of others do not matter */
export function openParts(database: DatabaseSync, owner: string): Parts {
  database.exec('CREATE TABLE IF NOT EXISTS part (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID');
  const read = database.prepare('SELECT content FROM part WHERE name = ?');
  const put = database.prepare('INSERT OR REPLACE INTO part (name, content) VALUES (?, ?)');
  return {
    read(name) {
      const content = read.get(`${owner} ${name}`)?.content;
      if (!(content instanceof Uint8Array)) return new ArrayBuffer(0);
      const { buffer, byteLength } = content;
      // it need not be copied if nothing else is in its buffer
      return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : content.slice().buffer;
    },
    write(name, { buffer, byteOffset, byteLength }) {
      put.run(`${owner} ${name}`, new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    },
  };
}
