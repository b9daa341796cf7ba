import type { IntentDetails, Match } from '../../../schemas/intent.ts';
import type { SearchQuery } from '../../../schemas/search.ts';
import type { IntentRecord } from '../registry/records.ts';

export interface Hit {
  intent: IntentDetails;
  match?: Match;
}

export interface SearchResult {
  hits: Hit[];
  /** on all pages */
  total: number;
}

export interface SearchOptions {
  /** Whether nobody may execute an intent. Such intents come last among the best hits. */
  isForbidden?: (uid: string, read: () => { record: IntentRecord; service_name: string }) => boolean;
}

export interface SearchEngine {
  search(query: SearchQuery, options?: SearchOptions): Promise<SearchResult>;
  close(): Promise<void>;
}
