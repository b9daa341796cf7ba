import { afterAll, describe, expect, test } from '@jest/globals';
import { recordTag } from '../../functions/core/http/response.ts';
import { createAction } from '../../functions/update-intent.ts';
import { savedIntent, toFullIntent, toIntentDetails } from '../../schemas/intent.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { egress, type Headers, refusals, startRegistry, testIfMatch, unknownIntentUids } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const update = (intent_uid: string, body: unknown, headers: Headers = {}) =>
  invoke(byAdmin(createAction({ ...registry, egress })), 'PUT /api/intents/{intent_uid}', { path: { intent_uid }, headers, body });

test('PUT /api/intents/{intent_uid} replaces the whole record, and removes members that the body leaves out', async () => {
  const { uid, service, intent } = await registry.createIntent({ tags: ['geo'], category: 'facts', deprecated: true });
  const input = intentOf(uid, { intent_name: 'Look up country', tags: ['countries'] });
  const { status, headers, body } = await update(uid, input);
  expect({ status, body }).toEqual({
    status: 200,
    body: { intent_id: uid, intent_uid: uid, intent_name: 'Look up country', description: 'Tells a country from its code' },
  });
  savedIntent.parse(body);
  const found = await registry.intents.find(uid);
  expect(found?.intent).toEqual({ ...input, kind: 'intent', service_id: service.service_id, rev: expect.any(Number) });
  expect(found?.intent.rev).not.toBe(intent.rev);
  expect(headers).toMatchObject({ ETag: found && recordTag(found.intent, found.service.rev, 'details'), 'Cache-Control': 'no-store' });
});

testIfMatch(200, async () => {
  const { uid, intent } = await registry.createIntent();
  return {
    etag: recordTag(intent, 'full'),
    call: (headers) => update(uid, intentOf(uid, { tags: ['changed'] }), headers),
    read: () => registry.intents.find(uid),
  };
});

test('PUT /api/intents/{intent_uid} refuses an intent that does not exist', async () => {
  const [uid = ''] = unknownIntentUids;
  expect(refusalOf(await update(uid, intentOf(uid)))).toEqual(refusals.noSuchIntent);
});

test('PUT /api/intents/{intent_uid} refuses a uid that differs from the path', async () => {
  const { uid } = await registry.createIntent();
  expect(refusalOf(await update(uid, intentOf(uid.replace('v1', 'v2'))))).toEqual(
    refusals.invalid(['/intent_uid', 'must equal the intent_uid in the path; a new uid is a new intent']),
  );
});

test('PUT /api/intents/{intent_uid} refuses an invalid body, and leaves the record unchanged', async () => {
  const { uid, intent } = await registry.createIntent();
  const endpoint = 'https://api.example/test/api/intents/execute';
  expect(refusalOf(await update(uid, { ...intentOf(uid), description: '', rev: 'x' }))).toEqual(
    refusals.invalid(['/description', 'must not be empty'], ['/rev', 'is not a known member; remove it']),
  );
  expect(refusalOf(await update(uid, { ...intentOf(uid), endpoint }))).toEqual(
    refusals.invalid(['/endpoint/url', 'must not lead back to this gate']),
  );
  expect(refusalOf(await update(uid, {}, { 'Content-Type': 'text/plain' }))).toEqual(refusals.mediaType);
  expect((await registry.intents.find(uid))?.intent.rev).toBe(intent.rev);
});

test('PUT /api/intents/{intent_uid} accepts what view=full returned, if read-only members are unchanged', async () => {
  const { uid, service } = await registry.createIntent({ category: 'facts', draft: true });
  const found = await registry.intents.find(uid);
  if (!found) throw new Error('the intent is gone');
  const shown = toFullIntent(found.intent, service.service_name);
  expect((await update(uid, shown)).status).toBe(200);
  const after = await registry.intents.find(uid);
  expect(after && toFullIntent(after.intent, after.service.service_name)).toEqual(shown);
  const wrong = { ...shown, intent_id: 'test.example:other:v1', service_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', service_name: 'Other' };
  const problem = 'must be unchanged from a read of the intent, or be left out; PUT does not change it';
  expect(refusalOf(await update(uid, wrong))).toEqual(
    refusals.invalid(['/intent_id', problem], ['/service_id', problem], ['/service_name', problem]),
  );
  expect((await registry.intents.find(uid))?.intent.rev).toBe(after?.intent.rev);
});

describe('the details view', () => {
  const definition = {
    category: 'facts',
    deprecated: true,
    input_parameters: [
      { name: 'code', type: 'string' as const, required: true, pattern: '^[A-Z]{2}$' },
      { name: 'view', type: 'string' as const, enum: ['short', 'long'] },
    ],
    endpoint: { url: 'https://world.example/countries/{code}{?view}', method: 'GET' as const, content_type: 'application/json' },
  };

  async function read(uid: string) {
    const found = await registry.intents.find(uid);
    if (!found) throw new Error('the intent is gone');
    return {
      full: toFullIntent(found.intent, found.service.service_name),
      details: toIntentDetails(found.intent, found.service.service_name),
    };
  }

  test('the details view can be sent back, and keeps what it does not show', async () => {
    const { uid } = await registry.createIntent(definition);
    const { full, details } = await read(uid);
    expect((await update(uid, details)).status).toBe(200);
    expect((await read(uid)).full).toEqual(full);
    const [code, view] = details.input_parameters;
    const changed = { ...details, description: 'Another', input_parameters: [code, { ...view, description: 'how much' }] };
    expect((await update(uid, changed)).status).toBe(200);
    const after = (await read(uid)).full;
    expect(after).toEqual({
      ...full,
      description: 'Another',
      input_parameters: [full.input_parameters[0], { name: 'view', type: 'string', required: false, description: 'how much' }],
      digest: after.digest,
    });
  });

  test('the details view is an ordinary body without its digest, and is refused with an old one', async () => {
    const { uid } = await registry.createIntent(definition);
    const { details } = await read(uid);
    const { digest, service_name, ...body } = details;
    expect((await update(uid, { ...body, endpoint: 'https://world.example/countries' })).status).toBe(200);
    expect((await read(uid)).full).toMatchObject({ deprecated: false, endpoint: { method: 'POST' } });
    expect(refusalOf(await update(uid, { ...body, digest, service_name }))).toEqual(
      refusals.invalid(['/digest', 'must be unchanged from a read of the intent, or be left out; PUT does not change it']),
    );
  });
});
