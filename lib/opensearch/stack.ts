import { collectionVariables } from '../../functions/opensearch/records.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit } from '../permission.ts';
import { SearchCollection } from './search-collection.ts';

/** The collection's data access policy limits the operations. */
const uses = { read: 'searches', write: 'updates the search index' };

export const opensearchStack: FeatureStack = {
  permissions: ({ collection }) => (collection ? [permit('aoss:APIAccessAll', 'search collection', uses[collection])] : []),
  create(scope, { settings }) {
    if (settings.search !== 'opensearch') return undefined;
    const made = new SearchCollection(scope, 'SearchCollection', settings);
    return {
      arns: { 'search collection': [made.arn] },
      environment: ({ collection }) => ({ ...(collection && { [collectionVariables.searchCollection]: made.endpoint }) }),
      admit({ collection }, role) {
        if (collection) made.allow(collection, role);
      },
    };
  },
};
