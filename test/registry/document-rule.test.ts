import { describe, expect, test } from '@jest/globals';
import { combineIntent, combineService, openHeaders } from '../../registry/document-rule.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import type { ServiceInput } from '../../schemas/service.ts';

describe('a service that is imported again', () => {
  const stated: ServiceInput = { service_name: 'Things', service_url: 'https://things.example', description: 'All things' };

  test.each<[string, stated: Partial<ServiceInput>, registered: Partial<ServiceInput>, expected: Partial<ServiceInput>]>([
    ['keeps what people decide', {}, { namespace: 'things.example', limit: { rate: 5, period: 60 } }, {}],
    ['stays paused', {}, { paused: true }, {}],
    ['keeps what they decide although the document says it', { limit: { rate: 9, period: 1 } }, { limit: { rate: 5, period: 60 } }, {}],
    ['takes over what the document alone says', { limit: { rate: 9, period: 1 } }, {}, { limit: { rate: 9, period: 1 } }],
    [
      'keeps addresses that the document does not give',
      {},
      { service_logo_url: 'https://a.example/l', policy_url: 'https://a.example/p' },
      {},
    ],
    [
      'takes addresses from the document',
      { service_logo_url: 'https://a.example/new' },
      { service_logo_url: 'https://a.example/old' },
      { service_logo_url: 'https://a.example/new' },
    ],
    ['takes its address from the document', {}, { service_url: 'https://other.example' }, { service_url: 'https://things.example' }],
    ['keeps a name that people have given it', {}, { service_name: 'By hand' }, { service_name: 'By hand' }],
    ['takes the description from the document', {}, { description: 'By hand' }, { description: 'All things' }],
    ['keeps a description if the document has none', { description: 'Things' }, { description: 'By hand' }, { description: 'By hand' }],
    ['keeps a name as its description', { description: 'Things' }, { service_name: 'By hand', description: 'By hand' }, {}],
    [
      'keeps header fields one by one, in whatever case they are written',
      { headers: { 'Api-Version': '2' } },
      { headers: { 'api-version': '1', 'X-Own': 'a' } },
      { headers: { 'X-Own': 'a', 'Api-Version': '2' } },
    ],
  ])('a service that is imported again %s', (_, more, registered, expected) => {
    const before = { ...stated, ...registered };
    expect(combineService({ ...stated, ...more }, before)).toEqual({ ...before, ...expected });
  });

  test('a service that is imported again gets a requested name, even if an import wrote the old one', () => {
    const asked = { ...stated, description: 'Things' };
    const before = { ...stated, service_name: 'Old name', description: 'Old name' };
    expect(combineService(asked, before, true)).toEqual(asked);
    expect(combineService(asked, { ...before, description: 'By hand' }, true)).toEqual({ ...asked, description: 'By hand' });
  });

  test('a service that is imported again keeps header fields that the document does not set', () => {
    expect(openHeaders({ ...stated, headers: { a: '1' } }, { headers: { A: '0', B: '2' } })).toEqual({ B: '2' });
    expect(openHeaders(stated, undefined)).toEqual({});
  });
});

describe('an intent that is imported again', () => {
  const stated: IntentInput = {
    intent_uid: 'things.example:get:v1',
    intent_name: 'Get a thing',
    description: 'One of them',
    endpoint: { method: 'GET', url: 'https://things.example/{id}', content_type: 'application/json' },
    input_parameters: [{ name: 'id', type: 'string', required: true }],
    output_parameters: [],
  };

  test.each<[string, stated: Partial<IntentInput>, registered: Partial<IntentInput>, expected: Partial<IntentInput>]>([
    ['keeps what people decide', {}, { fields: ['/a'], strict: true, draft: true }, {}],
    ['keeps what they decide although the document says it', { fields: ['/b'], strict: false }, { fields: ['/a'], strict: true }, {}],
    ['takes over what the document alone says', { fields: ['/b'] }, {}, { fields: ['/b'] }],
    ['is no draft again once it is published', { draft: true }, {}, {}],
    ['stays deprecated', {}, { deprecated: true }, {}],
    ['is what the document says about deprecation', { deprecated: false }, { deprecated: true }, { deprecated: false }],
    ['keeps tags and category that the document does not give', {}, { tags: ['own'], category: 'c' }, {}],
    ['takes tags from the document', { tags: ['new'] }, { tags: ['own'] }, { tags: ['new'] }],
    [
      'keeps a description if the document has none',
      { description: 'Get a thing' },
      { description: 'By hand' },
      { description: 'By hand' },
    ],
    [
      'writes its name where the import has written that before',
      { description: 'Get a thing' },
      { intent_name: 'Get one', description: 'Get one' },
      { intent_name: 'Get a thing', description: 'Get a thing' },
    ],
    [
      'takes name, description, endpoint and parameters as wholes',
      {},
      {
        intent_name: 'By hand',
        description: 'By hand',
        endpoint: { ...stated.endpoint, body: null },
        input_parameters: [{ name: 'id', type: 'string', required: true, maxLength: 3 }],
      },
      stated,
    ],
  ])('an intent that is imported again %s', (_, more, registered, expected) => {
    const before = { ...stated, ...registered };
    expect(combineIntent({ ...stated, ...more }, before)).toEqual({ ...before, ...expected });
  });
});
