import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createAction, type Deps } from '../../functions/change-intents.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { listIntents } from '../../functions/core/registry/lists.ts';
import { log } from '../../functions/core/runtime/log.ts';
import { intentsChanged } from '../../schemas/intent-changes.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { egress, type Headers, refusals, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const changeLog = openChangeLog(registry.table);

const change = (body: unknown, service_id: string, headers: Headers = {}, checkSnapshot?: Deps['checkSnapshot']) =>
  invoke(byAdmin(createAction({ ...registry, egress, checkSnapshot })), 'POST /api/services/{service_id}/changes', {
    path: { service_id },
    headers,
    body,
  });

let serviceId: string;
let uid: (slug: string | number) => string;
let count = 0;

/** A service of its own with the intents `first` and `second`. */
beforeEach(async () => {
  const namespace = `bulk-${++count}.example`;
  uid = (slug) => `${namespace}:${slug}:v1`;
  ({ service_id: serviceId } = await registry.createService());
  for (const slug of ['first', 'second']) await registry.intents.create(serviceId, intentOf(uid(slug)));
});

const uidsOf = async () => {
  const service = await registry.services.find(serviceId);
  if (!service) throw new Error('the service is gone');
  const { intents, total } = await listIntents(registry.table, service, 0, 100, true);
  expect(total).toBe(intents.length);
  return intents.map(({ intent_uid }) => intent_uid);
};

test('a bulk change creates, replaces and deletes in one log entry, and returns the remaining intents', async () => {
  const before = await changeLog.head();
  const replaced = intentOf(uid('first'), { description: 'Tells something else' });
  const { status, body } = await change({ create: [intentOf(uid('a'))], replace: [replaced], delete: [uid('second')] }, serviceId);
  const digests = [intentOf(uid('a')), replaced].map((intent) => ({ intent_uid: intent.intent_uid, digest: digestIntent(intent) }));
  expect({ status, body }).toEqual({ status: 200, body: { seq: before.seq + 1, intents: digests } });
  intentsChanged.parse(body);
  expect(await uidsOf()).toEqual([uid('a'), uid('first')]);
  expect((await registry.intents.find(uid('first')))?.intent).toMatchObject({ description: 'Tells something else', rev: before.seq + 1 });
});

test('a bulk change accepts the entity tag of an intent, even if a proxy has weakened it', async () => {
  const rev = (await registry.intents.find(uid('first')))?.intent.rev;
  const replace = (tag: string) => change({ replace: [intentOf(uid('first'))], if_match: { [uid('first')]: tag } }, serviceId);
  expect((await replace(`W/"${rev}.1.full"`)).status).toBe(200);
  expect((await replace(`"${rev}.1.full"`)).status).toBe(409);
});

test('a bulk change replaces an intent only if it still has the given digest', async () => {
  const digest = digestIntent(intentOf(uid('first')));
  const replace = (description: string) =>
    change({ replace: [intentOf(uid('first'), { description })], if_match: { [uid('first')]: digest } }, serviceId);
  expect(await replace('New')).toMatchObject({ status: 200 });
  expect(refusalOf(await replace('Newer'))).toMatchObject({
    status: 409,
    code: 'CONFLICT',
    details: { issues: [{ path: '/replace/0', problem: 'The record has changed since you read it' }] },
  });
  expect((await registry.intents.find(uid('first')))?.intent.description).toBe('New');
});

describe('checks of the snapshot of the search index', () => {
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {});
  const toCheck = () => jest.fn<NonNullable<Deps['checkSnapshot']>>(async () => {});
  /** Makes single changes until the next entry has a number of this remainder. */
  const writeUntil = async (remainder: number) => {
    for (let n = 0; ((await changeLog.head()).seq + 1) % 16 !== remainder; n++)
      await registry.intents.create(serviceId, intentOf(uid(`until-${n}`)));
  };

  test.each<[string, { remainder: number; body: () => object; status: number; checks: number }]>([
    ['at a multiple of 16', { remainder: 0, body: () => ({ delete: [uid('first')] }), status: 200, checks: 1 }],
    ['before it', { remainder: 15, body: () => ({ delete: [uid('first')] }), status: 200, checks: 0 }],
    ['after it', { remainder: 1, body: () => ({ delete: [uid('first')] }), status: 200, checks: 0 }],
    ['after a refusal, which is no entry', { remainder: 0, body: () => ({ delete: [uid('none')] }), status: 404, checks: 0 }],
  ])('a bulk change checks the snapshot once in 16 entries of the log: %s', async (_, { remainder, body, status, checks }) => {
    await writeUntil(remainder);
    const check = toCheck();
    expect((await change(body(), serviceId, {}, check)).status).toBe(status);
    expect(check.mock.calls).toEqual(Array.from({ length: checks }, () => [{}]));
  });

  test('32 bulk changes check the snapshot twice', async () => {
    const check = toCheck();
    for (let n = 0; n < 32; n++) await change({ create: [intentOf(uid(`bulk-${n}`))] }, serviceId, {}, check);
    expect(check).toHaveBeenCalledTimes(2);
  });

  test('a change that was made is answered as such if the check of the snapshot cannot be started', async () => {
    await writeUntil(0);
    const { status } = await change({ delete: [uid('first')] }, serviceId, {}, () => Promise.reject(new Error('no Lambda')));
    expect(status).toBe(200);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

describe('refused bulk changes', () => {
  const taken = 'An intent with this intent_uid exists. Update that one, or choose another slug or version.';
  const twice = 'must not be the uid of another change in the same request';
  const { invalid } = refusals;
  const located = (path: string, problem: string) => ({ details: { issues: [{ path, problem }] } });

  test.each<[string, () => unknown, object]>([
    [
      'of 31',
      () => ({ create: Array.from({ length: 31 }, (_, at) => intentOf(uid(at))) }),
      invalid(['', 'must have at most 30 changes; send the others in further requests']),
    ],
    [
      'of which the third is invalid',
      () => ({ create: [intentOf(uid('a')), intentOf(uid('b')), { ...intentOf(uid('c')), endpoint: 'http://169.254.169.254/' }] }),
      { status: 400, code: 'INVALID_PARAMETER', details: { issues: [expect.objectContaining({ path: '/create/2/endpoint/url' })] } },
    ],
    ['that create and delete one uid', () => ({ create: [intentOf(uid('a'))], delete: [uid('a')] }), invalid(['/delete/0', twice])],
    [
      'that replace one uid twice',
      () => ({ replace: [intentOf(uid('first')), intentOf(uid('first'))] }),
      invalid(['/replace/1/intent_uid', twice]),
    ],
    [
      'with a digest of what is not changed',
      () => ({ delete: [uid('first')], if_match: { [uid('second')]: digestIntent(intentOf(uid('second'))) } }),
      {
        status: 400,
        details: {
          issues: [
            {
              path: expect.stringMatching(/^\/if_match\/.+:second:v1$/),
              problem: 'must be the uid of an intent that is replaced or deleted',
            },
          ],
        },
      },
    ],
    ['with a list that is none', () => ({ create: {} }), { status: 400, code: 'INVALID_PARAMETER' }],
    [
      'of which one deletes what does not exist',
      () => ({ create: [intentOf(uid('a'))], delete: [uid('first'), uid('none')] }),
      { status: 404, code: 'NOT_FOUND', ...located('/delete/1', 'No intent has this intent_uid') },
    ],
    [
      'of which one creates what exists',
      () => ({ create: [intentOf(uid('a')), intentOf(uid('first'))] }),
      { status: 409, code: 'CONFLICT', message: taken, ...located('/create/1/intent_uid', 'must be unique') },
    ],
  ])('a bulk change with changes %s changes nothing', async (_, body, refusal) => {
    const { seq } = await changeLog.head();
    expect(refusalOf(await change(body(), serviceId))).toMatchObject(refusal);
    expect((await changeLog.head()).seq).toBe(seq);
    expect(await uidsOf()).toEqual([uid('first'), uid('second')]);
  });

  test('a bulk change without a change is refused', async () => {
    const { seq } = await changeLog.head();
    expect(await change({}, serviceId)).toMatchObject({ status: 200, body: { seq, intents: [] } });
    expect((await changeLog.head()).seq).toBe(seq);
  });

  test('a bulk change to an intent of another service, or in an unknown service, changes nothing', async () => {
    const { uid: other } = await registry.createIntent();
    expect(refusalOf(await change({ delete: [other] }, serviceId))).toMatchObject({
      status: 404,
      ...located('/delete/0', 'No intent has this intent_uid'),
    });
    expect(await registry.intents.find(other)).toBeDefined();
    expect(refusalOf(await change({ create: [intentOf(uid('a'))] }, 'none'))).toEqual(refusals.noSuchService);
  });
});
