import { definePartitions, type Key } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    feed: true;
  }
}

const key = definePartitions({ feed: { table: 'registry', prefix: 'FEED#' } });

/** The progress of the feed of a collection. */
export const feedKey = (collection: string): Key => key('feed', collection, 'FEED');
