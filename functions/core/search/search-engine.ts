import type { IntentDetails, Match } from '../../../schemas/intent.ts';
import type { SearchQuery } from '../../../schemas/search.ts';
import type { IntentRecord } from '../registry/records.ts';

/** An intent that a search found. */
export interface Hit {
  intent: IntentDetails;
  /** why it was found, if `explain` asked for it */
  match?: Match;
}

export interface SearchResult {
  /** the hits of the page that was asked for */
  hits: Hit[];
  /** how many intents match, on all pages */
  total: number;
}

export interface SearchOptions {
  /** Of the best answers to a question, these come after all others: what nobody may execute. */
  isForbidden?: (uid: string, read: () => { record: IntentRecord; service_name: string }) => boolean;
}

/** What answers searches: SQLite in the function, or an OpenSearch Serverless collection. */
export interface SearchEngine {
  search(query: SearchQuery, options?: SearchOptions): Promise<SearchResult>;
  close(): Promise<void>;
}
