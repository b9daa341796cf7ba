import { expect, test } from '@jest/globals';
import { distinguish, nameAction } from '../../../registry/import/action-name.ts';
import { majorVersion, makeFileName, makeSlug, readTitle } from '../../../registry/import/naming.ts';
import type { IntentEndpoint } from '../../../schemas/intent.ts';

/** From operations of public APIs. */
const actions: [method: IntentEndpoint['method'], path: string, operationId: string | undefined, name: string][] = [
  ['DELETE', '/v1/coupons/{coupon}', 'DeleteCouponsCoupon', 'Delete a coupon'],
  ['POST', '/v1/coupons', 'PostCoupons', 'Create a coupon'],
  ['POST', '/v1/coupons/{coupon}', 'PostCouponsCoupon', 'Update a coupon'],
  ['DELETE', '/v1/account', 'DeleteAccount', 'Delete the account'],
  ['GET', '/v1/charges', 'GetCharges', 'List charges'],
  ['GET', '/v1/customers/search', 'GetCustomersSearch', 'Search customers'],
  ['POST', '/v1/invoices/{invoice}/finalize', 'PostInvoicesInvoiceFinalize', 'Finalize an invoice'],
  ['POST', '/v1/charges/{charge}/dispute/close', 'PostChargesChargeDisputeClose', 'Close the dispute of a charge'],
  ['POST', '/v1/reporting/report_runs', 'PostReportingReportRuns', 'Create a reporting report run'],
  ['POST', '/v1/invoices/{invoice}/mark_uncollectible', 'PostInvoicesInvoiceMarkUncollectible', 'Mark an invoice as uncollectible'],
  ['POST', '/chat/completions', 'createChatCompletion', 'Create a chat completion'],
  ['GET', '/users', 'UserController_findAll', 'List users'],
  ['GET', '/v1/users/{id}', 'UserService_GetUser', 'Get a user'],
  ['PATCH', '/api/items/{id}/', 'items_partial_update', 'Update an item'],
  ['GET', '/api/items/{id}/', 'items_retrieve', 'Get an item'],
  ['GET', '/items/{item_id}', 'read_item_items__item_id__get', 'Read an item'],
  ['GET', '/v2/floating_ips', 'floatingIPs_list', 'List floating IPs'],
  ['POST', '/repos/{owner}/{repo}/issues', 'issues/create', 'Create an issue'],
  ['POST', '/instances/{id}:start', undefined, 'Start an instance'],
  ['GET', '/files.list', 'files_list', 'List files'],
  ['POST', '/admin.conversations.setTeams', 'admin_conversations_setTeams', 'Set teams for admin conversations'],
  ['GET', '/1/cards/{idCard}/list', 'getCardsListByIdCard', 'Get the list of a card'],
  ['PUT', '/1/cards/{idCard}/due', 'updateCardsDueByIdCard', 'Update the due of a card'],
  ['GET', '/people/{id}/addresses', undefined, 'List addresses of a person'],
  ['POST', '/skus', undefined, 'Create a sku'],
  ['GET', '/v1/urls/{id}', undefined, 'Get a URL'],
  ['GET', '/', undefined, 'Get the root'],
];

test.each(actions)('%s %s (%s) is called %s', (method, path, operationId, name) => {
  expect(nameAction({ method, path, operationId })).toBe(name);
});

test('PUT replaces what PATCH changes', () => {
  const [put, patch] = (['PUT', 'PATCH'] as const).map((method) => nameAction({ method, path: '/pets/{id}', hasPatch: true }));
  expect([put, patch]).toEqual(['Replace a pet', 'Update a pet']);
});

test.each<[string, [name: string, method: string, path: string][], string[]]>([
  [
    'words of their paths',
    [
      ['List fields', 'GET', '/services/custom_fields'],
      ['List fields', 'GET', '/incidents/custom_fields'],
      ['List teams', 'GET', '/teams'],
    ],
    ['List fields (services)', 'List fields (incidents)', 'List teams'],
  ],
  [
    'a version that only one has',
    [
      ['Get a schedule', 'GET', '/schedules/{id}'],
      ['get a schedule', 'GET', '/v3/schedules/{id}'],
    ],
    ['Get a schedule', 'get a schedule (v3)'],
  ],
  [
    'places',
    [
      ['Get it', 'GET', '/cards/{id}'],
      ['Get it', 'GET', '/cards/{id}/{field}'],
    ],
    ['Get it', 'Get it (by field)'],
  ],
  [
    'methods',
    [
      ['Change it', 'PUT', '/cards/{id}'],
      ['Change it', 'PATCH', '/cards/{id}'],
    ],
    ['Change it (PUT)', 'Change it (PATCH)'],
  ],
  [
    'nothing less than all',
    [
      ['Do it', 'GET', '/a-b'],
      ['Do it', 'GET', '/a/b'],
      ['Do it', 'POST', '/a/b'],
    ],
    ['Do it (GET /a-b)', 'Do it (GET /a/b)', 'Do it (POST /a/b)'],
  ],
])('operations of one name are told apart by %s', (_, given, expected) => {
  expect(distinguish(given.map(([name, method, path]) => ({ name, method, path })))).toEqual(expected);
});

test.each<[summary: string, title: string | undefined]>([
  ['List orders.', 'List orders'],
  ['creates an order. It is open at first.', 'Creates an order'],
  ['**Starting a new project?** We recommend trying something else.\n\nCreates a model response.', undefined],
  ['With Connect, you can delete accounts you manage.', undefined],
  ['This endpoint deletes a coupon', undefined],
  ['/orders/{id}', undefined],
  ['listOpenOrders', undefined],
  [`Returns ${'very '.repeat(20)}long lists`, undefined],
  ['', undefined],
])('the summary %j gives the name %j', (summary, title) => {
  expect(readTitle(summary, '', () => {})).toBe(title);
});

test.each<[document: string, addresses: string[], version: string | undefined]>([
  ['2.7.1', ['/orders'], 'v2'],
  ['v3', ['/orders'], 'v3'],
  ['1.4.0', ['/v2/orders', '/v2/berths/{number}'], 'v2'],
  ['1.4.0', ['/v2/orders', '/orders'], 'v1'],
  ['16.1.0', ['/api.xro/2.0/Invoices'], 'v2'],
  ['1', ['/1/boards', '/1/cards/{id}'], 'v1'],
  ['1', ['/orders/2/lines'], 'v1'],
  ['2020-08-27', ['/v1/charges'], 'v1'],
  ['2024-05-01', ['/orders'], undefined],
  ['0.3', ['/orders'], undefined],
  ['unversioned', [], undefined],
])('version %j with the paths %j is %j', (document, addresses, version) => {
  expect(majorVersion(document, addresses)).toBe(version);
});

test.each([
  ['floatingIPs_list', 'floating-ips-list'],
  ['getHTTPStatus', 'get-http-status'],
  ['createATask', 'create-a-task'],
  ['listURLsByID', 'list-urls-by-id'],
])('%s has the slug %s', (id, slug) => {
  expect(makeSlug(id)).toBe(slug);
});

test.each([
  ["GitHub's official OpenAPI spec + Octokit", 'githubs-official-openapi-spec-octokit'],
  ['ÖPNV API', 'opnv-api'],
])('%s has the file name %s', (name, file) => {
  expect(makeFileName(name)).toBe(file);
});
