import type { DatabaseSync } from 'node:sqlite';

const advice =
  'Run on a Node.js (24 or later) whose node:sqlite is built with FTS5, as the binaries of nodejs.org are, or choose another search engine.';

/** Loaded at run time, so that a Node without it says what is missing instead of failing to load. */
const sqlite = process.getBuiltinModule?.('node:sqlite');

/**
 * Search keeps its index in SQLite's full-text engine.
 * @throws Error saying what this Node.js lacks
 */
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
