import { afterAll, describe, expect, test } from '@jest/globals';
import { intentTag } from '../../functions/core/store/intents.ts';
import { createAction } from '../../functions/update-intent.ts';
import { savedIntent } from '../../schemas/intent.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { egress, type Headers, refusals, startRegistry, testAdminsAlone, testIfMatch, unknownIntentUids } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const update = (intent_uid: string, body: unknown, headers: Headers = registry.asAdmin) =>
  invoke(createAction({ ...registry, egress }), {
    method: 'PUT',
    path: `/api/intents/${intent_uid}`,
    pathParameters: { intent_uid: encodeURIComponent(intent_uid) },
    headers,
    body: JSON.stringify(body),
  });

testAdminsAlone(registry, (headers) => update('unknown', 'no intent', headers));

test('replaces the whole record: members that the body leaves out are gone', async () => {
  const { uid, service, intent } = await registry.createIntent({ tags: ['geo'], category: 'facts', deprecated: true });
  const input = intentOf(uid, { intent_name: 'Look up country', tags: ['countries'] });
  const { status, headers, body } = await update(uid, input);
  expect({ status, body }).toEqual({
    status: 200,
    body: { intent_id: uid, intent_uid: uid, intent_name: 'Look up country', description: 'Tells a country from its code' },
  });
  savedIntent.parse(body);
  const found = await registry.intents.find(uid);
  expect(found?.intent).toEqual({ ...input, kind: 'intent', service_id: service.service_id, rev: expect.any(String) });
  expect(found?.intent.rev).not.toBe(intent.rev);
  expect(headers).toMatchObject({ ETag: found && intentTag(found, 'details'), 'Cache-Control': 'no-store' });
});

describe.each(['details', 'full'] as const)('the view %s', (view) => {
  testIfMatch(200, async () => {
    const { uid, ...found } = await registry.createIntent();
    return {
      etag: intentTag(found, view),
      call: (headers) => update(uid, intentOf(uid, { tags: ['changed'] }), { ...registry.asAdmin, ...headers }),
      read: () => registry.intents.find(uid),
    };
  });
});

test.each(unknownIntentUids)('refuses the intent %j, which does not exist', async (uid) => {
  expect(refusalOf(await update(uid, intentOf(uid)))).toEqual(refusals.noSuchIntent);
});

test('refuses a uid other than that of the path', async () => {
  const { uid } = await registry.createIntent();
  expect(refusalOf(await update(uid, intentOf(uid.replace('v1', 'v2'))))).toEqual(
    refusals.invalid(['/intent_uid', 'must equal the intent_uid in the path; a new uid is a new intent']),
  );
});

test('refuses a body with which no intent could be created, and leaves the record', async () => {
  const { uid, intent } = await registry.createIntent();
  const endpoint = 'https://api.example/test/api/intents/execute';
  expect(refusalOf(await update(uid, { ...intentOf(uid), description: '', intent_id: uid }))).toEqual(
    refusals.invalid(['/description', 'must not be empty'], ['/intent_id', 'is not a known member; remove it']),
  );
  expect(refusalOf(await update(uid, { ...intentOf(uid), endpoint }))).toEqual(
    refusals.invalid(['/endpoint/url', 'must not lead back to this gate']),
  );
  expect(refusalOf(await update(uid, {}, { ...registry.asAdmin, 'Content-Type': 'text/plain' }))).toEqual(refusals.mediaType);
  expect((await registry.intents.find(uid))?.intent.rev).toBe(intent.rev);
});
