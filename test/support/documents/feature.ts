import type { TestedFeature } from '../feature.ts';

export const documents: TestedFeature = {
  stores: () => ({
    get: async () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') }),
  }),
  cases: { 'get-document': { prepare: async () => ({ query: { url: 'https://tools.example/openapi.json' } }), isForAll: true } },
  invalid: [['get-document', { query: { url: 'ftp://tools.example' } }]],
};
