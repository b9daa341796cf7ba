import type { IntentDetails, Match } from '../../../schemas/intent.ts';
import type { SearchQuery } from '../../../schemas/search.ts';
import type { IntentRecord } from '../registry/records.ts';

/** An intent that a search found. */
export interface Hit {
  intent: IntentDetails;
  /** if the query has `explain` */
  match?: Match;
}

export interface SearchResult {
  /** the hits of one page */
  hits: Hit[];
  /** on all pages */
  total: number;
}

export interface SearchOptions {
  /** Whether the policy lets nobody execute an intent. Among the best hits of a question, these come last. */
  isForbidden?: (uid: string, read: () => { record: IntentRecord; service_name: string }) => boolean;
}

/** Either SQLite in the function, or an OpenSearch Serverless collection. */
export interface SearchEngine {
  search(query: SearchQuery, options?: SearchOptions): Promise<SearchResult>;
  close(): Promise<void>;
}
