import { describe, expect, test } from '@jest/globals';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { document, operation, plan, planOperation } from './planning.ts';

test('an API without https is skipped with the option that may help', () => {
  const { skipped } = plan({ ...document({ '/things': { get: operation() } }), servers: [{ url: 'http://api.example/v1' }] });
  expect(skipped).toEqual([
    {
      operation: 'GET /things',
      path: '/paths/~1things/get',
      reason: 'is not at https; if the API supports it, give --base-url https://api.example/v1',
    },
  ]);
});

test('an API without https is skipped with the reason that https would not mend', () => {
  const { skipped } = plan({ ...document({ '/a{b': { get: operation() } }), servers: [{ url: 'http://api.example/v1' }] });
  expect(skipped.map(({ reason }) => reason)).toEqual([expect.stringMatching(/^would be refused: \/endpoint\/url must/)]);
});

describe('an operation at another origin than the service', () => {
  const reason = (origin: string, home = 'https://things.example') =>
    `is at ${origin}, but the service is at ${home}; --allow-origin ${origin} imports it anyway`;
  const elsewhere = (url: string, options?: Partial<ImportOptions>) => planOperation({ servers: [{ url }] }, options);
  const skippedFor = (reason: string) => [{ operation: 'POST /things', path: '/paths/~1things/post', reason }];

  test.each([
    { url: 'https://evil.example', origin: 'https://evil.example' },
    { url: 'https://things.example.evil.example/v1', origin: 'https://things.example.evil.example' },
    { url: 'https://files.things.example', origin: 'https://files.things.example' },
  ])('an operation at $url is skipped, because its origin is $origin', ({ url, origin }) => {
    expect(elsewhere(url)).toMatchObject({ intents: [], skipped: skippedFor(reason(origin)) });
  });

  test('an operation at another origin is imported if the origin is allowed, or only spelt differently', () => {
    expect(elsewhere('https://evil.example/v1', { allowedOrigins: ['https://evil.example'] }).intents).toHaveLength(1);
    expect(elsewhere('https://THINGS.example:443/v2').intents).toHaveLength(1);
  });

  test('the origin of an operation is compared with the service that is imported into', () => {
    const { skipped } = planOperation({}, { serviceUrl: 'https://www.example' });
    expect(skipped).toEqual(skippedFor(reason('https://things.example', 'https://www.example')));
  });

  test('an intent at another origin is also skipped in a service description', () => {
    const intent = (slug: string, endpoint: string) => ({
      intent_uid: `things.example:${slug}:v1`,
      intent_name: 'Act',
      description: 'Acts',
      input_parameters: [],
      output_parameters: [],
      endpoint,
    });
    const intents = [intent('at-home', 'https://things.example/a'), intent('away', 'https://evil.example/')];
    const planned = plan({ 'service-info': { name: 'Things', description: 'Things', service_url: 'https://things.example' }, intents });
    expect(planned.intents.map(({ intent_uid }) => intent_uid)).toEqual(['things.example:at-home:v1']);
    expect(planned.skipped).toEqual([{ operation: 'things.example:away:v1', path: '/intents/1', reason: reason('https://evil.example') }]);
  });
});
