import { afterAll, expect, jest, test } from '@jest/globals';
import { openChangeLog } from '../../../functions/core/registry/change-log.ts';
import { openPublisher } from '../../../functions/core/registry/publish-policy.ts';
import { log } from '../../../functions/core/runtime/log.ts';
import { createAction as createDelete } from '../../../functions/trial/delete-policy-trial.ts';
import { createAction as createPut } from '../../../functions/trial/put-policy-trial.ts';
import { openTrialObserver, openTrials } from '../../../functions/trial/trial-verdict.ts';
import { startExecuting } from '../../support/executing.ts';
import { execute, newAgent, requestPat } from '../../support/gate.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { compiledText, loadPolicyTemplate, openInForce } from '../../support/policy.ts';
import { intentOf } from '../../support/records.ts';

const { gate, serviceId, endpointAt } = await startExecuting(undefined, { namespace: 'geo.example' });
const { table } = gate.database;
afterAll(() => gate.stop());
const uid = 'geo.example:get-country:v1';
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));

const file = loadPolicyTemplate();
const publisher = openPublisher(openChangeLog(table), compiledText);
const put = (body: unknown) => invoke(byAdmin(createPut({ publisher })), 'PUT /api/policy/try', { body });
const end = () => invoke(byAdmin(createDelete({ publisher })), 'DELETE /api/policy/try');

test('a policy on trial judges the next execution without effect, until its trial ends', async () => {
  const findPolicy = openInForce(table, file);
  const pat = (await requestPat(gate.openIssue(file, { findPolicy }), await newAgent(), file)).body['proto-pat'];
  const call = gate.openExecute({ template: findPolicy, observers: [openTrialObserver(openTrials(table))] });
  const trialOfNext = async () => {
    using lines = jest.spyOn(log, 'info');
    expect((await execute(call, pat, uid, { code: 'FR' })).status).toBe(200);
    const [, line] = lines.mock.calls.find(([message]) => message === 'executed') ?? [];
    return line?.trial;
  };
  expect(await trialOfNext()).toBeUndefined();
  const prohibition = [{ target: `{base_url}/api/intents/${uid}`, action: 'execute' }];
  const { body } = await put({ ...file, prohibition });
  expect(await trialOfNext()).toEqual({ policy: body.version, refused: '/prohibition/0' });
  await put(file);
  expect(await trialOfNext()).toEqual({ policy: expect.not.stringContaining(body.version), counts: ['/permission/0'] });
  expect((await end()).status).toBe(204);
  expect(await trialOfNext()).toBeUndefined();
});

test('a trial that has not begun cannot be ended', async () => {
  expect(refusalOf(await end())).toEqual({
    status: 404,
    code: 'NOT_FOUND',
    message: 'No policy is on trial. An admin puts one on trial with: intent-gate policy publish FILE --try',
    details: { reason: 'no_trial' },
  });
});

test('a policy that cannot be put into effect is not put on trial', async () => {
  const { status, body } = await put({ ...file, permission: [{ target: '{base_url}/api/intents', action: 'fly' }] });
  expect([status, body.error.details.issues[0].path]).toEqual([400, '/permission/0/action']);
});
