import { afterAll, expect, test } from '@jest/globals';
import { recordTag } from '../../functions/core/http/response.ts';
import { createAction } from '../../functions/delete-intent.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { type Headers, refusals, startRegistry, testIfMatch } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const remove = (intent_uid: string, headers: Headers = {}) =>
  invoke(byAdmin(createAction(registry)), 'DELETE /api/intents/{intent_uid}', { path: { intent_uid }, headers });

test('DELETE /api/intents/{intent_uid} deletes the intent and frees its uid', async () => {
  const { uid, service } = await registry.createIntent();
  const answer = await remove(uid);
  expect(answer).toMatchObject({ status: 204, body: undefined, headers: { 'Cache-Control': 'no-store' } });
  expect(await registry.intents.find(uid)).toBeUndefined();
  expect(await registry.services.find(service.service_id)).toMatchObject({ intents: 0, drafts: 0 });
  expect(refusalOf(await remove(uid))).toEqual(refusals.noSuchIntent);
  expect(await registry.intents.create(service.service_id, intentOf(uid))).toMatchObject({ intent_uid: uid });
});

testIfMatch(204, async () => {
  const { uid, intent } = await registry.createIntent();
  return {
    etag: recordTag(intent, 'details'),
    call: (headers) => remove(uid, headers),
    read: () => registry.intents.find(uid),
  };
});
