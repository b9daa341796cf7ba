import { afterAll, expect, test } from '@jest/globals';
import { namesRevision, recordTag } from '../../functions/core/http/response.ts';
import { createAction } from '../../functions/get-intent.ts';
import { describedDetails, fullIntent, intentDetails, intentUpdate } from '../../schemas/intent.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { type Headers, refusals, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const get = (intent_uid: string, query: Record<string, string | string[]> = {}, headers: Headers = {}) =>
  invoke(createAction(registry), 'GET /api/intents/{intent_uid}', {
    path: { intent_uid },
    query,
    headers,
  });

const input = [
  { name: 'code', type: 'string' as const, required: true, description: 'ISO 3166 code', pattern: '^[A-Z]{2}$', default: 'FR' },
];
const { uid, ...found } = await registry.createIntent({ input_parameters: input, tags: ['geo'], category: 'facts', deprecated: true });

const tagOf = (view: string) => recordTag(found.intent, found.service.rev, view);

const details = {
  intent_uid: uid,
  service_name: found.service.service_name,
  intent_name: 'Get country',
  description: 'Tells a country from its code',
  input_parameters: [{ name: 'code', type: 'string', required: true, description: 'ISO 3166 code' }],
  output_parameters: [{ name: 'name', type: 'string', required: true }],
  endpoint: 'https://api.world.example/countries',
  tags: ['geo'],
  digest: digestIntent(found.intent),
};

test('GET /api/intents/{intent_uid} shows what an agent needs to know', async () => {
  const { status, headers, body } = await get(uid);
  expect({ status, body }).toEqual({ status: 200, body: details });
  intentDetails.parse(body);
  expect(headers).toMatchObject({ ETag: tagOf('details'), 'Cache-Control': 'no-cache' });
  expect(await get(uid, { view: 'details' })).toEqual({ status, headers, body });
});

test('GET /api/intents/{intent_uid} shows what the policy says about the intent, under an entity tag that If-Match accepts', async () => {
  const template = {
    ...loadPolicyTemplate(),
    permission: [
      { target: '{base_url}/api/intents', action: 'execute' },
      {
        target: `{base_url}/api/intents/${uid}`,
        action: 'execute',
        constraint: [
          { leftOperand: `{base_url}/api/intents/${uid}/parameters/code`, operator: 'neq' as const, rightOperand: 'XX' },
          { leftOperand: 'v:rateLimit', operator: 'lte' as const, rightOperand: 5, unit: 'v:day' },
        ],
      },
    ],
  };
  const ask = (view: string) =>
    invoke(createAction({ ...registry, findPolicy: openPolicy(template) }), 'GET /api/intents/{intent_uid}', {
      path: { intent_uid: uid },
      query: { view },
    });
  const terms = [`You may execute the intent ${uid} if parameter code is not "XX", at most 5 times a day.`];
  const [short, full] = [await ask('details'), await ask('full')];
  expect(short).toMatchObject({ status: 200, body: { ...details, terms } });
  describedDetails.parse(short.body);
  expect(full.body.terms).toEqual(terms);
  fullIntent.parse(full.body);
  const tag = String(full.headers.ETag);
  expect(tag).toMatch(/\.full\.[\w-]{8}"$/);
  expect(namesRevision(tag, found.intent)).toBe(true);
  expect(intentUpdate.parse(full.body)).toMatchObject({ intent_uid: uid });
});

test('view=full shows everything that was registered', async () => {
  const { status, headers, body } = await get(uid, { view: 'full' });
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      ...details,
      intent_id: uid,
      service_id: found.service.service_id,
      input_parameters: input,
      endpoint: { url: 'https://api.world.example/countries', method: 'POST', content_type: 'application/json' },
      category: 'facts',
      version: 'v1',
      deprecated: true,
      draft: false,
    },
  });
  fullIntent.parse(body);
  expect(headers).toMatchObject({ ETag: tagOf('full'), 'Cache-Control': 'no-cache' });
});

test('GET /api/intents/{intent_uid} answers 304 if a copy of the same view is still current', async () => {
  const held = { 'If-None-Match': tagOf('details') };
  expect(await get(uid, {}, held)).toMatchObject({ status: 304, body: undefined });
  expect((await get(uid, { view: 'full' }, held)).status).toBe(200);
});

test('GET /api/intents/{intent_uid} refuses an intent that does not exist, or no longer does', async () => {
  expect(refusalOf(await get('test.example:nothing:v1'))).toEqual(refusals.noSuchIntent);
  const { uid, service } = await registry.createIntent();
  await registry.services.remove(service.service_id, () => true);
  expect(refusalOf(await get(uid))).toEqual(refusals.noSuchIntent);
});

const form = 'must have the form <namespace>:<intent-slug>:v<version>, for example example.com:convert-currency:v1';

test.each<[string, Record<string, string | string[]>, [path: string, problem: string]]>([
  ['no-uid', {}, ['/intent_uid', form]],
  [`a:${'b'.repeat(200)}:v1`, {}, ['/intent_uid', 'must have at most 200 characters']],
  [uid, { view: 'brief' }, ['/view', 'must be one of "full", "details"']],
])('GET /api/intents/{intent_uid} refuses %j with %j', async (intentUid, query, issue) => {
  expect(refusalOf(await get(intentUid, query))).toEqual(refusals.invalid(issue));
});
