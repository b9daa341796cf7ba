import { readerOf } from '../core/runtime/environment.ts';
import { definePartitions, type Key } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    feed: true;
  }
}

const key = definePartitions({ feed: { table: 'registry', prefix: 'FEED#' } });

/** The progress of the feed of a collection. */
export const feedKey = (collection: string): Key => key('feed', collection, 'FEED');

/** The environment variables of the search collection. */
export const collectionVariables = {
  /** endpoint of the OpenSearch Serverless collection that searches go to, if the deployment has one */
  searchCollection: 'SEARCH_COLLECTION',
} as const;

export const readCollectionEnvironment = readerOf(collectionVariables);
