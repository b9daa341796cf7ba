import type { Change, RegistryRecord } from '../registry/records.ts';

/** The registry as search reads it. All reads are strongly consistent. */
export interface RegistrySource {
  /** changes announced at or after a moment, oldest first, page by page */
  changesSince(timeMs: number): AsyncIterable<Change[]>;
  /** the records that changes speak of, in their order; undefined if there is none (yet) */
  readChanged(changes: Change[]): Promise<(RegistryRecord | undefined)[]>;
  /** every live record, some at a time */
  readAll(): AsyncIterable<{ records: RegistryRecord[] }>;
}
