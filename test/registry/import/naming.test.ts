import { describe, expect, test } from '@jest/globals';
import { document, operation, plan, planOperation } from './planning.ts';

describe('naming', () => {
  test.each([
    { operationId: 'listOpenOrders', slug: 'list-open-orders' },
    { operationId: '注文一覧', slug: 'post-things' },
    { operationId: 'a'.repeat(150), slug: `${'a'.repeat(91)}-5b0a8ff5` },
  ])('the operationId $operationId becomes the slug $slug', ({ operationId, slug }) => {
    const [intent] = planOperation({ operationId }).intents;
    expect(intent?.intent_uid.replace(/[0-9a-f]{8}(?=:v1)/, '5b0a8ff5')).toBe(`things.example:${slug}:v1`);
  });

  test('a version that is a number counts as one', () => {
    const { intents } = plan(document({ '/things': { get: operation() } }, { info: { title: 'Things', version: 3 } }));
    expect(intents[0]?.intent_uid).toBe('things.example:act:v3');
  });

  test.each<{ source: string; more: object; name: string }>([
    { source: 'the summary', more: { summary: 'List *all* `orders`.', description: 'Other' }, name: 'List all orders' },
    {
      source: 'the operationId, not a description',
      more: { operationId: 'listOrders', description: '<p>You can list orders.</p>' },
      name: 'List orders',
    },
    {
      source: 'a long summary',
      more: { operationId: 'cancelOrder', summary: 'word '.repeat(30), description: 'Cancels it.' },
      name: 'Cancel an order',
    },
    { source: 'method and path', more: { operationId: undefined }, name: 'Create a thing' },
    {
      source: 'words in angle brackets',
      more: { summary: 'Send Bearer <token> and snake_case_name' },
      name: 'Send Bearer <token> and snake_case_name',
    },
  ])('the name of an intent is made from $source', ({ more, name }) => {
    expect(planOperation(more).intents[0]?.intent_name).toBe(name);
  });

  test('no two intents have the same name', () => {
    const act = (operationId: string) => operation({ operationId, summary: 'Act' });
    const { intents } = plan(document({ '/cats/{id}': { get: act('a'), put: act('b') }, '/dogs/{id}': { get: act('c') } }));
    expect(intents.map(({ intent_name }) => intent_name)).toEqual(['Act (GET /cats/{id})', 'Act (PUT /cats/{id})', 'Act (GET /dogs/{id})']);
    expect(intents.map(({ description }) => description)).toEqual(intents.map(({ intent_name }) => intent_name));
  });

  test('a description loses HTML and Markdown markup', () => {
    const description =
      '<p>Lists <a href="https://a.example">orders</a>:</p><ul><li>open</li><li>**done**</li></ul><br/>\n```\na &amp; b\n```';
    expect(planOperation({ description }).intents[0]?.description).toBe('Lists orders:\n\n- open\n- done\n\na & b');
  });

  test('an import takes the given namespace, version and name', () => {
    const { service, intents } = planOperation({}, { namespace: 'Acme.things', version: 'v7.1', serviceName: 'Our things' });
    expect([service.service_name, intents[0]?.intent_uid]).toEqual(['Our things', 'Acme.things:act:v7.1']);
  });
});
