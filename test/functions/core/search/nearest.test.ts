import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Action } from '../../../../functions/core/http/serve.ts';
import { parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { openIntents } from '../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { withNearest } from '../../../../functions/core/search/nearest.ts';
import { openSqliteEngine } from '../../../../functions/core/search/sqlite/engine.ts';
import { createAction as createGetIntent } from '../../../../functions/get-intent.ts';
import { createAction as createSearch } from '../../../../functions/search-intents.ts';
import { type Answer, invoke } from '../../../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../../../support/policy.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const table = openMemoryTable();
const engine = openSqliteEngine(openRegistry(table));
const intents = openIntents(table);
afterAll(() => engine.close());

const template = loadPolicyTemplate();
const prohibition = { target: '{base_url}/api/intents/geo.example:get-continent:v1', action: 'execute' };
const findPolicy = openPolicy(
  parsePolicyTemplate(JSON.stringify({ ...template, prohibition: [...(template.prohibition ?? []), prohibition] })),
);
const searched: Record<string, string>[] = [];
const searchIntents = createSearch({ engine, findPolicy });
const search: Action = (request) => {
  searched.push(request.queryValues());
  return searchIntents(request);
};
const getIntent = createGetIntent({ intents, findPolicy });

beforeAll(async () => {
  const { service_id } = await openServices(table).create(serviceNamed('Atlas'));
  for (const [uid, intent_name, more] of [
    ['geo.example:get-country:v2', 'Get country', {}],
    ['geo.example:list-countries:v1', 'List countries', {}],
    ['geo.example:get-continent:v1', 'Get continent', {}],
    ['geo.example:get-county:v1', 'Get county', { draft: true }],
    ['geo.example:get-counter:v1', 'Get counter', { deprecated: true }],
    ['geo.example:find-capital:v1', 'Find the capital', {}],
    ['shop.example:pay-order:v1', 'Pay an order', {}],
  ] as const)
    await intents.create(service_id, intentOf(uid, { intent_name, description: 'An operation', ...more }));
});

const ask = (intent_uid: string, action: Action = withNearest(getIntent, { search, findPolicy })): Promise<Answer> =>
  invoke(action, 'GET /api/intents/{intent_uid}', { path: { intent_uid } });

test.each<[string, string, string | undefined]>([
  ['a letter is missing', 'geo.example:get-contry:v1', 'geo.example:get-country:v2'],
  ['it has another version', 'geo.example:get-country:v1', 'geo.example:get-country:v2'],
  ['the namespace is misspelt', 'go.example:get-country:v1', 'geo.example:get-country:v2'],
  ['the namespace is made up', 'atlas.test:pay-order:v1', 'shop.example:pay-order:v1'],
  ['only the verb is another', 'geo.example:look-up-capital:v1', 'geo.example:find-capital:v1'],
  ['nothing is like it', 'quux.test:frobnicate:v1', undefined],
  ['its word is only in descriptions', 'quux.test:operation:v1', undefined],
  ['it has no words', '-.-:-:v1', undefined],
])('if %s, the nearest of %s is %s', async (_, uid, nearest) => {
  const { status, body } = await ask(uid);
  expect({ status, code: body.error.code }).toEqual({ status: 404, code: 'NOT_FOUND' });
  expect(body.error.details.nearest?.[0]).toBe(nearest);
});

test('at most three uids are named as nearest, and neither drafts nor what is deprecated or prohibited', async () => {
  const { nearest } = (await ask('geo.example:get-conti:v1')).body.error.details;
  expect(nearest).toContain('geo.example:get-country:v2');
  for (const uid of ['geo.example:get-continent:v1', 'geo.example:get-county:v1', 'geo.example:get-counter:v1']) {
    expect((await ask(uid.replace(':v1', ':v7'))).body.error.details.nearest).not.toContain(uid);
    expect(nearest).not.toContain(uid);
  }
  expect(nearest.length).toBeLessThanOrEqual(3);
});

test('one search is made for each unknown uid, and none for what is there or refused otherwise', async () => {
  searched.length = 0;
  await ask('geo.example:get-contry:v1');
  expect(searched).toHaveLength(1);
  expect((await ask('geo.example:get-country:v2')).status).toBe(200);
  expect((await ask('no uid')).status).toBe(400);
  const busy: Action = () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'No.'));
  expect((await ask('geo.example:get-contry:v1', withNearest(busy, { search, findPolicy }))).status).toBe(503);
  expect(searched).toHaveLength(1);
});

test.each<[string, Action]>([
  ['fails', () => Promise.reject(new Error('down'))],
  ['answers something else', async () => ({ status: 200, body: { pages: [] } })],
  ['does not answer', () => new Promise(() => {})],
])('if the search %s, the refusal stays as it was', async (_, broken) => {
  const uid = 'geo.example:get-contry:v1';
  expect((await ask(uid, withNearest(getIntent, { search: broken, findPolicy }, 10))).body).toEqual((await ask(uid, getIntent)).body);
});
