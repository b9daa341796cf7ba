import { openOpenSearchEngine } from '../../../functions/opensearch/engine.ts';
import { searchQuery } from '../../../schemas/search.ts';
import type { TestedFeature } from '../feature.ts';

export const opensearch: TestedFeature = {
  keepingClients(endpoint) {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const engine = openOpenSearchEngine({ endpoint, region: 'eu-west-1', credentials });
    return { OpenSearch: () => engine.search(searchQuery.parse({ query: 'weather' })).then(() => 200) };
  },
};
