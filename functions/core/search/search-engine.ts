import type { IntentDetails, IntentEndpoint, IntentHealth } from '../../../schemas/intent.ts';
import type { Match } from '../../../schemas/intent-pages.ts';
import type { SearchQuery } from '../../../schemas/search.ts';
import { judgedIntent } from '../policy/conditions.ts';
import type { Sight } from '../policy/sight.ts';
import type { IntentRecord } from '../registry/records.ts';

export interface Hit {
  intent: IntentDetails;
  /** with `view=catalogue` */
  method?: IntentEndpoint['method'];
  match?: Match;
}

export interface SearchResult {
  hits: Hit[];
  /** on all pages */
  total: number;
}

/** How the calls of an intent have fared. */
export interface ReportedHealth {
  health: IntentHealth;
  /** whether all of its calls have failed for an hour */
  isFailing: boolean;
}

/** Reads how the calls of intents have fared. @returns a lookup by uid; undefined if nothing is reported */
export type ReadHealth = () => Promise<(intentUid: string) => ReportedHealth | undefined>;

export interface SearchOptions {
  /** Whether an intent comes after those that are as relevant. */
  isFailing?: (uid: string) => boolean;
  /** Whether the policy does not permit an intent to the caller. Such intents come last among the best hits; with `permitted`, they are left out. */
  isForbidden?: (uid: string, read: () => { record: IntentRecord; service_name: string }) => boolean;
  /** stands for the rules behind `isForbidden`: while neither it nor the registry changes, no intent is judged twice */
  judgedBy?: object;
}

/** The engine in memory finds every change that was made before a search began; OpenSearch finds it a minute or two later. */
export interface SearchEngine {
  search(query: SearchQuery, options?: SearchOptions): Promise<SearchResult>;
}

export const searchWith = ({ judgedBy, shows }: Sight): SearchOptions => ({
  ...(judgedBy && { judgedBy }),
  isForbidden: (uid, read) =>
    !shows(uid, () => {
      const { record, service_name } = read();
      return judgedIntent(record, { service_id: record.service_id, service_name });
    }),
});
