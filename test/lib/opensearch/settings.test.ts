import { expect, test } from '@jest/globals';
import { parseSettings } from '../../../lib/settings.ts';
import { mistakes } from '../../support/settings.ts';

test('parseSettings accepts as many intents as OpenSearch has room for', () => {
  expect(parseSettings({ expectedIntents: 1_000_000, search: 'opensearch' }).expectedIntents).toBe(1_000_000);
});

test.each<[Record<string, unknown>, string]>([
  [{ search: 'opensearch ' }, 'search: must be sqlite or opensearch'],
  [
    { search: 'opensearch', catalogue: 'permitted' },
    'catalogue: must be public with another search engine, which does not know the policy',
  ],
  [{ expectedIntents: '250001' }, 'expectedIntents: must be at most 250000, unless search is opensearch'],
])('parseSettings refuses the search engine or the number of intents in %j', (given, expected) => {
  expect(mistakes(given)).toEqual([expected]);
});
