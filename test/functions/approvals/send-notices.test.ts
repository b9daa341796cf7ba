import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { noticeOf } from '../../../functions/approvals/announce.ts';
import { createAction } from '../../../functions/approvals/send-notices.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import type { PolicyTemplate } from '../../../functions/core/policy/template.ts';
import { parseSettings } from '../../../lib/settings.ts';
import { openApprovalParts } from '../../support/approvals/approval-parts.ts';
import { captureLog } from '../../support/capture-log.ts';
import { approvalTemplate as template } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { type Agent, baseUrl, execute, newAgent, obtainPat } from '../../support/gate.ts';
import { openPolicy } from '../../support/policy.ts';
import { intentOf } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';

const { gate, serviceId, endpointAt } = await startExecuting((_, response) => response.end('{}'), { namespace: 'pay.example' });
const parts = openApprovalParts(gate);

let answer: (response: ServerResponse) => unknown;
const webhook = await startUpstream((_, response) => void answer(response));

const origin = `http://127.0.0.1:${webhook.port}`;
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const uid = 'pay.example:refund:v1';
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));

let agent: Agent;
let steps: Action;
let pat: string;
let number = 0;

beforeEach(async () => {
  answer = (response) => response.writeHead(204).end();
  // the calls of earlier tests are of no interest
  await run();
  webhook.seen.length = 0;
  agent = await newAgent();
  steps = parts.openExecute({ template: template() });
  pat = await obtainPat(gate, agent, template());
});

afterAll(webhook.stop);

afterEach(() => {
  jest.restoreAllMocks();
});

const run = (options: { secret?: string; timeoutMs?: number; remainingMs?: number; policy?: PolicyTemplate } = {}) =>
  createAction({
    table: gate.database.table,
    findPolicy: openPolicy(options.policy ?? template()),
    url: `${origin}/hook?token=hidden`,
    readSecret: async () => ('secret' in options ? options.secret : secret),
    timeoutMs: options.timeoutMs ?? 1_000,
  })(undefined, () => options.remainingMs ?? 30_000);

/** Requests a call that has to wait. @returns its id */
async function ask(): Promise<string> {
  const { status, body } = await execute(steps, pat, uid, { code: 'FR' }, { 'Idempotency-Key': `key-${++number}` });
  expect(status).toBe(202);
  return String(body.execution).split('/').at(-1) ?? '';
}

const toldOf = (): string[] => webhook.seen.map(({ headers }) => String(headers['webhook-id']));

describe('notices of waiting calls', () => {
  test('a webhook is told of each call once, signed as in Standard Webhooks, and without arguments', async () => {
    const id = await ask();
    await run();
    await run();
    const [first, ...more] = webhook.seen;
    if (!first) throw new Error('the webhook was not told');
    const { method, url, headers, body } = first;
    expect([more, method, url, headers['content-type']]).toEqual([[], 'POST', '/hook?token=hidden', 'application/json']);
    const { 'webhook-id': messageId, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    expect(messageId).toBe(`msg_${id}`);
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).toBeLessThan(60);
    expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`);
    const { digest, ...shown } = await parts.shown(id);
    const notice = { type: 'approval.waiting', timestamp: shown.since, data: noticeOf(shown, digest, baseUrl) };
    expect(JSON.parse(String(body))).toEqual(JSON.parse(JSON.stringify(notice)));
    expect(shown.parameters).toEqual({ code: 'FR' });
    expect(String(body)).not.toMatch(/"(code|parameters|FR)"/);
  });

  test.each<[string, (response: ServerResponse) => unknown, number | undefined]>([
    ['answers 500', (response) => response.writeHead(500).end('no'), 500],
    ['answers 410', (response) => response.writeHead(410).end(), 410],
    ['redirects', (response) => response.writeHead(302, { Location: `${origin}/elsewhere` }).end(), 302],
    ['stays silent', () => undefined, undefined],
    ['breaks the connection', (response) => response.destroy(), undefined],
  ])('a webhook that %s is tried again by the next run, under the same id, and keeps later calls in order', async (_, failing, status) => {
    const ids = [await ask(), await ask()];
    answer = failing;
    const lines = captureLog();
    await run({ timeoutMs: 200 });
    expect(toldOf()).toEqual([`msg_${ids[0]}`]);
    const logged = lines.map((line) => JSON.parse(line));
    expect(logged).toEqual([
      expect.objectContaining({ level: 'ERROR', message: 'notice not sent', to: origin, ...(status && { status }) }),
    ]);
    expect(lines.join()).not.toContain('hidden');
    answer = (response) => response.writeHead(200).end('{}');
    await run();
    await run();
    expect(toldOf()).toEqual([ids[0], ...ids].map((id) => `msg_${id}`));
  });

  test('a notice that the webhook refuses keeps nobody from being told of later calls, and is tried again', async () => {
    pat = await obtainPat(gate, await newAgent('<script>alert(1)</script>'), template());
    const refused = await ask();
    pat = await obtainPat(gate, agent, template());
    const id = await ask();
    // as firewalls do
    answer = (response) => response.writeHead(String(webhook.seen.at(-1)?.body).includes('<script>') ? 403 : 204).end();
    captureLog();
    await run();
    await run();
    expect(toldOf()).toEqual([refused, id, refused].map((one) => `msg_${one}`));
  });

  test('nobody is told of a call that has been decided meanwhile', async () => {
    const id = await ask();
    answer = (response) => response.writeHead(500).end();
    await run();
    const { digest } = await parts.shown(id);
    expect(await parts.decide(id, `"${digest}"`)).toMatchObject({ status: 200 });
    await run();
    expect(toldOf()).toEqual([`msg_${id}`]);
  });

  test('nobody is told of a call under another policy, unless that was only so while the policy was being deployed', async () => {
    const id = await ask();
    await run({ policy: template({ rate: 59 }) });
    expect(toldOf()).toEqual([]);
    await run();
    expect(toldOf()).toEqual([`msg_${id}`]);
  });

  test('a run that has little time left leaves the rest to the next one', async () => {
    const id = await ask();
    await run({ remainingMs: 1_999 });
    expect(toldOf()).toEqual([]);
    await run();
    expect(toldOf()).toEqual([`msg_${id}`]);
  });

  test.each([
    ['missing', undefined],
    ['too short', `whsec_${randomBytes(23).toString('base64')}`],
  ])('without a usable secret nobody is told: it is %s', async (_, wrong) => {
    await ask();
    await expect(run({ secret: wrong as string })).rejects.toThrow('the secret of the webhook must be whsec_ and 24 to 64 bytes in base64');
    expect(toldOf()).toEqual([]);
  });
});

test.each([
  ['http://hooks.example/x', 'must be an https address without user information'],
  ['https://user@hooks.example/x', 'must be an https address without user information'],
  ['hooks.example', 'must be an https address without user information'],
])('the setting notify does not take %s', (url, problem) => {
  expect(() => parseSettings({ notify: { url, secret: 'hook' } })).toThrow(problem);
});

test('the sample passes on what the event has', () => {
  const sample = readFileSync('samples/approval-notices.yaml', 'utf8');
  const { Resources } = parse(sample, { logLevel: 'silent' });
  const shown = { id: '', agent_id: '', key_thumbprint: '', intent_uid: '', since: '', expires_at: '' };
  const members = Object.keys(noticeOf(shown as never, '', ''));
  for (const name of ['MailRule', 'ChatRule']) {
    const { EventPattern, Targets } = Resources[name].Properties;
    expect([EventPattern.source, EventPattern['detail-type']]).toEqual([['intent-gate'], ['approval.waiting']]);
    for (const path of Object.values<string>(Targets[0].InputTransformer.InputPathsMap))
      expect(members).toContain(path.replace('$.detail.', ''));
  }
});
