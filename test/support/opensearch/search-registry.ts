import type { RegistryRecord } from '../../../functions/core/registry/records.ts';
import type { RegistrySource } from '../../../functions/core/search/registry-source.ts';
import type { FeedParts } from '../../../functions/opensearch/feed.ts';
import type { FeedProgress } from '../../../functions/opensearch/feed-state.ts';

/**
 * A registry to fill a search collection from that needs no table. Nothing in it changes.
 * @param pageAt - the records of a page; undefined after the last one
 */
export function registryOf(pageAt: (page: number) => RegistryRecord[] | undefined): RegistrySource {
  async function* readAll(cursor = '0') {
    let page = Number(cursor);
    for (let records = pageAt(page); records; records = pageAt(page)) yield { records, cursor: String(++page) };
  }
  return {
    readAll,
    head: async () => ({ seq: 0, digest: null }),
    async *entriesAfter() {},
    /** a fill reads services */
    async readRecords(names) {
      const all = (await Array.fromAsync(readAll())).flatMap(({ records }) => records);
      const services = new Map(all.flatMap((record) => (record.kind === 'service' ? [[record.service_id, record]] : [])));
      return names.map(({ id }) => services.get(id));
    },
    uidsOf: async () => [],
  };
}

/** The progress of a feed, kept in this process. */
export function stateInMemory(): FeedParts['state'] {
  let [number, progress]: [number, FeedProgress | undefined] = [0, undefined];
  return {
    begin: async () => ({
      number: ++number,
      progress,
      save: async (next) => {
        progress = next;
      },
      end: async () => {},
    }),
  };
}
