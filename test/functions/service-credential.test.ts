import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Credentials, makeCredential, openCredentials } from '../../functions/core/credentials/credentials.ts';
import { recheckAfterMs } from '../../functions/core/execution/block-check.ts';
import type { EgressRules } from '../../functions/core/relay/egress.ts';
import { createAction as createDeleteService } from '../../functions/delete-service.ts';
import { createAction as createDelete } from '../../functions/delete-service-credential.ts';
import { createAction as createPut } from '../../functions/put-service-credential.ts';
import { savedCredential } from '../../schemas/credential.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import type { ServiceInput } from '../../schemas/service.ts';
import { makeCertificate } from '../support/certificate.ts';
import { watchExecuted } from '../support/executed-lines.ts';
import { execute, newAgent, obtainPat, startGate } from '../support/gate.ts';
import { type Answer, byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { letPass, skipOutwaiting } from '../support/let-pass.ts';
import { loadPolicyTemplate } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { refusals } from '../support/registry.ts';
import { startUpstream } from '../support/upstream.ts';

beforeAll(skipOutwaiting);

const certificate = makeCertificate('api.world.example');
const upstream = await startUpstream((_, response) => response.end('{"name":"France"}'), certificate);
const gate = await startGate({
  rules: { ports: [443, upstream.port], allowLoopback: true, ownHosts: [] },
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  trustedCertificate: certificate.cert,
});
afterAll(() => Promise.all([gate.stop(), upstream.stop()]));
const { services, credentials } = gate;
const executed = watchExecuted();
let count = 0;

/** A service at the origin of its intents. */
const ofUpstream = (name: string): ServiceInput => ({
  ...serviceNamed(name),
  service_url: `https://API.world.example:${upstream.port}/v1`,
});
const { service_id: serviceId } = await services.create(ofUpstream('With a credential'));
const origins = () => [`https://api.world.example:${upstream.port}`];
const newService = async () => (await services.create(ofUpstream(`Service ${++count}`))).service_id;
const strict = { ports: [443, 8443], allowLoopback: false, ownHosts: [] };
const neverSet = { version: '00000000-0000-4000-8000-000000000000' };
const stored = async (id = serviceId) => (await services.find(id))?.credential ?? neverSet;
const expectNoValues = (id: string, version = neverSet) =>
  expect(openCredentials(gate.vault).read(id, version)).rejects.toThrow(
    'The credential of the service is missing. Set it again, or remove it.',
  );

const call = (
  method: 'PUT' | 'DELETE',
  body: unknown,
  id = serviceId,
  headers: Record<string, string> = {},
  vault: Pick<Credentials, 'add' | 'remove'> = credentials,
  egress: EgressRules = { ports: [443, upstream.port], allowLoopback: true, ownHosts: [] },
) => {
  const deps = { services, credentials: vault, egress };
  return invoke(byAdmin(method === 'PUT' ? createPut(deps) : createDelete(deps)), `${method} /api/services/{service_id}/credential`, {
    path: { service_id: id },
    headers,
    ...(method === 'PUT' && { body }),
  });
};

const input = { header_name: 'X-Api-Key', header_value: 'Key canary' };
test('a credential is set, replaced and removed, and never shown', async () => {
  const first = await call('PUT', input);
  expect(first).toMatchObject({ status: 200, headers: { 'Cache-Control': 'no-store' } });
  const names = { headers: ['X-Api-Key'], query: [], origins: origins() };
  expect(first.body).toEqual({ service_id: serviceId, header_name: 'X-Api-Key', ...names });
  expect(savedCredential.parse(first.body)).toEqual(first.body);
  const kept = { headers: { 'X-Api-Key': 'Key canary' }, query: {}, origins: origins() };
  const firstStored = await stored();
  expect(await credentials.read(serviceId, firstStored)).toEqual(kept);

  const second = await call('PUT', { ...input, header_name: 'Authorization' });
  expect(second.body).toMatchObject({ headers: ['Authorization'] });

  expect(await call('DELETE', undefined)).toMatchObject({ status: 204, body: undefined });
  await expectNoValues(serviceId, firstStored);
  expect(await call('DELETE', undefined)).toMatchObject({ status: 204 });
});

test('a credential has several values and next values', async () => {
  const given = {
    headers: { 'PLAID-CLIENT-ID': 'canary 1', 'PLAID-SECRET': 'canary 2' },
    query: { key: 'canary & 3=ä' },
    origins: ['https://API.two.example:443', ...origins()],
    next: { headers: { 'PLAID-SECRET': 'canary 4' } },
  };
  const id = await newService();
  const { status, body } = await call('PUT', given, id);
  const names = {
    headers: ['PLAID-CLIENT-ID', 'PLAID-SECRET'],
    query: ['key'],
    origins: ['https://api.two.example', ...origins()],
    next: { headers: ['PLAID-SECRET'], query: [] },
  };
  expect({ status, body }).toEqual({ status: 200, body: { service_id: id, ...names } });
  expect(savedCredential.parse(body)).toEqual(body);
  const { headers, query } = given;
  const next = { headers: given.next.headers, query: {} };
  expect(await credentials.read(id, await stored(id))).toEqual({ headers, query, origins: names.origins, next });

  const record = await services.find(id);
  expect(record?.credential).toMatchObject({ ...names, set_at: expect.any(Number), set_by: 'alice' });
  expect(JSON.stringify([body, record])).not.toContain('canary');
  // the entity tag that admins read
  expect(await call('DELETE', undefined, id, { 'If-Match': `"${record?.rev}.admin"` })).toMatchObject({ status: 204 });
  expect((await services.find(id))?.credential).toBeUndefined();
});

test('the credential is deleted with the service', async () => {
  const { service_id } = await services.create(ofUpstream('Deleted with its credential'));
  await call('PUT', input, service_id);
  const removeService = () =>
    invoke(byAdmin(createDeleteService({ services, credentials })), 'DELETE /api/services/{service_id}', { path: { service_id } });
  expect(await removeService()).toMatchObject({ status: 204 });
  await expectNoValues(service_id);

  // as if a deletion had been interrupted between the record and the credential
  await credentials.add(service_id, makeCredential(input, origins()));
  expect(await removeService()).toMatchObject({ status: 404 });
  await expectNoValues(service_id);
});

test('a new credential changes the revision of its service', async () => {
  const id = await newService();
  const etag = `"${(await services.find(id))?.rev}"`;
  expect(await call('PUT', input, id)).toMatchObject({ status: 200 });
  gate.secrets.operations.length = 0;
  for (const method of ['PUT', 'DELETE'] as const) {
    const answer = await call(method, input, id, { 'If-Match': etag });
    expect(refusalOf(answer)).toEqual(refusals.changed);
  }
  expect(gate.secrets.operations).toEqual([]);
  const current = `"${(await services.find(id))?.rev}"`;
  expect(await call('DELETE', undefined, id, { 'If-Match': current })).toMatchObject({ status: 204 });
});

describe('an execution', () => {
  let run: () => Promise<Answer>;
  let id: string;
  const here = (path: string) => `https://api.world.example:${upstream.port}${path}`;
  const postTo = (url: string) => ({ url, method: 'POST', content_type: 'application/json' }) as const;
  /** number of reads from Secrets Manager */
  const asked = () => gate.secrets.operations.filter((operation) => operation === 'GetSecretValue').length;

  beforeEach(async () => {
    id = await newService();
    const uid = `test.example:credential-${count}:v1`;
    await gate.intents.create(id, intentOf(uid, { endpoint: postTo(here('/')) }));
    const pat = await obtainPat(gate, await newAgent());
    run = () => execute(gate.openExecute(), pat, uid, { code: 'FR' });
    gate.secrets.operations.length = 0;
    upstream.seen.length = 0;
  });

  test('an execution reads a credential only if the service has one', async () => {
    expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen[0]?.headers]).toEqual([0, expect.not.objectContaining({ 'x-api-key': expect.anything() })]);
    await call('PUT', input, id);
    for (let calls = 0; calls < 3; calls++) expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen.at(-1)?.headers['x-api-key']]).toEqual([1, 'Key canary']);
    await call('DELETE', undefined, id);
    expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen.at(-1)?.headers['x-api-key']]).toEqual([1, undefined]);
  });

  /** Registers another intent of the service, and executes it. */
  const executeAnother = async (endpoint: string, more: Partial<IntentInput> = {}, parameters: object = { code: 'FR' }) => {
    const uid = `test.example:other-${++count}:v1`;
    await gate.intents.create(id, intentOf(uid, { endpoint: postTo(endpoint), ...more }));
    return execute(gate.openExecute(), await obtainPat(gate, await newAgent()), uid, parameters);
  };
  /** Registers another intent of the service, which one agent may execute as often as it likes. */
  const openCalls = async (url: string) => {
    const uid = `test.example:often-${++count}:v1`;
    await gate.intents.create(id, intentOf(uid, { endpoint: postTo(url) }));
    const template = JSON.parse(JSON.stringify(loadPolicyTemplate()).replaceAll(':60,', ':6000,'));
    const pat = await obtainPat(gate, await newAgent(), template);
    return () => execute(gate.openExecute({ template }), pat, uid, { code: 'FR' });
  };
  /** The log line of the execution that `run` makes. */
  async function receiptOf(run: () => Promise<unknown>): Promise<Record<string, unknown>> {
    executed.clear();
    await run();
    return { ...executed.lines()[0] };
  }

  describe('a service that echoes its credential', () => {
    const values = {
      headers: { Authorization: `Basic ${btoa('acme-shop:s3cr3t/pass+word')}`, 'X-Api-Key': 'KEY-CANARY-1' },
      query: { api_key: 'QUERY&CANARY=1' },
    };
    const next = { headers: { 'X-Api-Key': 'KEY-CANARY-2' } };
    const isLeaked = /canary|s3cr3t|acme-shop|QUNNRS|YWNtZS/i;
    const put = () => call('PUT', { ...values, next }, id);
    const answering = async (answer: Parameters<typeof startUpstream>[0]) => {
      const echo = await startUpstream(answer, certificate);
      await call('PUT', { ...values, next, origins: [`https://api.world.example:${echo.port}`] }, id);
      return echo;
    };

    test.each<{
      what: string;
      status: number;
      type: string;
      write: (request: { url: string; headers: Record<string, unknown> }) => string;
      expected: object;
    }>([
      {
        what: 'JSON',
        status: 200,
        type: 'application/json',
        write: ({ url, headers }) => JSON.stringify({ next: url, headers, 'KEY-CANARY-1': 1 }),
        expected: { headers: { 'x-api-key': '[credential]', authorization: '[credential]' } },
      },
      {
        what: 'bytes',
        status: 200,
        type: 'image/png',
        write: ({ headers }) => `\0${headers['x-api-key']}`,
        expected: { base64: btoa('\0[credential]') },
      },
      {
        what: 'a refusal',
        status: 422,
        type: 'application/json',
        write: ({ headers }) => JSON.stringify({ bad: headers['x-api-key'], to_come: 'KEY-CANARY-2' }),
        expected: { error: { details: { upstream_body: { bad: '[credential]', to_come: '[credential]' } } } },
      },
    ])(
      'an echoed credential is removed from $what that is passed on or stored, and the removal is logged',
      async ({ status, type, write, expected }) => {
        const echo = await answering((request, response) => response.writeHead(status, { 'Content-Type': type }).end(write(request)));
        const uid = `test.example:echo-${++count}:v1`;
        await gate.intents.create(
          id,
          intentOf(uid, { endpoint: postTo(`https://api.world.example:${echo.port}/a`), output_parameters: [] }),
        );
        const pat = await obtainPat(gate, await newAgent());
        const run = () => execute(gate.openExecute(), pat, uid, { code: 'FR' }, { 'Idempotency-Key': `echo-${count}` });
        let first: Answer | undefined;
        const line = await receiptOf(async () => (first = await run()));
        expect(first?.body).toMatchObject(expected);
        expect(JSON.stringify(first?.body)).not.toMatch(isLeaked);
        expect(line).toMatchObject({ credential: 'sent', credential_echoed: true });
        expect(JSON.stringify(line)).not.toMatch(isLeaked);
        const replayed = await run();
        expect(replayed.headers['Idempotent-Replayed']).toBe('true');
        expect(JSON.stringify(replayed.body)).not.toMatch(isLeaked);
        expect(echo.seen).toHaveLength(1);
        await echo.stop();
      },
    );

    test('an execution warns of values that are too short to be hidden', async () => {
      expect((await put()).body).not.toHaveProperty('warnings');
      const short = {
        headers: { 'X-A': '1234567', 'X-B': '12345678', Authorization: 'Bearer abc' },
        query: { q: 'a' },
        next: { headers: { Authorization: `Basic ${btoa('long-name:short')}` } },
      };
      const { body } = await call('PUT', short, id);
      const warning = (value: string) =>
        `${value} has fewer than 8 characters, so the gate cannot hide it if the service repeats it in an answer.`;
      expect(savedCredential.parse(body).warnings).toEqual([
        warning('The value of the header X-A'),
        warning('The value of the header Authorization'),
        warning('The value of the query parameter q'),
        warning('The next value of the header Authorization'),
      ]);
    });
  });

  test('an execution on another origin is sent without the credential, which is logged', async () => {
    await call('PUT', { ...input, query: undefined }, id);
    const elsewhere = await startUpstream((_, response) => response.end('{"name":"France"}'), certificate);
    const url = `https://api.world.example:${elsewhere.port}/collect`;
    const line = await receiptOf(async () => expect(await executeAnother(url)).toMatchObject({ status: 200 }));
    const sent = Object.keys(elsewhere.seen[0]?.headers ?? {});
    expect(sent.filter((name) => /api-key/.test(name))).toEqual([]);
    expect(line).toMatchObject({ upstream_host: `api.world.example:${elsewhere.port}`, credential: 'withheld' });
    expect(asked()).toBe(0);
    // unless an admin names that origin
    await call('PUT', { headers: { 'X-Api-Key': 'new' }, origins: [new URL(url).origin] }, id);
    expect(await receiptOf(() => executeAnother(url))).toMatchObject({ credential: 'sent' });
    expect(elsewhere.seen[1]?.headers).toMatchObject({ 'x-api-key': 'new' });
    expect(await receiptOf(run)).toMatchObject({ credential: 'withheld' });
    await elsewhere.stop();
  });

  test('an execution may use http on this machine if the rules allow it', async () => {
    const local = await startUpstream((_, response) => response.end('{"name":"France"}'));
    const origin = `http://127.0.0.1:${local.port}`;
    await services.replace(id, { ...ofUpstream(`Local ${count}`), service_url: `${origin}/v1` }, () => true);
    expect(await call('PUT', { headers: { 'X-Api-Key': 'local' } }, id)).toMatchObject({ status: 200, body: { origins: [origin] } });
    await executeAnother(`${origin}/collect`);
    expect(local.seen[0]?.headers).toMatchObject({ 'x-api-key': 'local' });
    await local.stop();
  });

  test('an execution sends query values percent-encoded, in place of equally named ones of the agent or the URL', async () => {
    await call('PUT', { query: { api_key: 'can&ary=ä?' }, headers: { 'X-Tenant': 'ours' } }, id);
    const names = [
      'api_key',
      'API_KEY',
      'api_key[]',
      'api.key',
      'api key',
      'api[key',
      'api_key.x',
      '[api_key]',
      ' [API_KEY][x]',
      '!api_key',
      'kept',
    ];
    const input_parameters = names.map((name) => ({ name, type: 'string' as const }));
    const values = Object.fromEntries(names.map((name) => [name, 'theirs']));
    const endpoint = { url: here('/things?Api_Key=fixed'), method: 'GET', content_type: 'application/json' } as const;
    expect(await executeAnother('', { endpoint, input_parameters }, values)).toMatchObject({ status: 200 });
    expect(upstream.seen[0]?.url).toBe('/things?kept=theirs&api_key=can%26ary%3D%C3%A4%3F');
    const form = { url: here('/'), method: 'POST', content_type: 'application/x-www-form-urlencoded' } as const;
    const fields = { name: 'x_tenant', type: 'string', in: 'header' } as const;
    await executeAnother('', { endpoint: form, input_parameters: [...input_parameters, fields] }, { ...values, x_tenant: 'theirs' });
    expect(upstream.seen[1]).toMatchObject({
      url: '/?api_key=can%26ary%3D%C3%A4%3F',
      body: 'kept=theirs',
      headers: { 'x-tenant': 'ours' },
    });
    expect(upstream.seen[1]?.headers).not.toHaveProperty('x_tenant');
  });

  test('an execution carries the header fields of the service and of the inputs', async () => {
    await services.replace(
      id,
      { ...ofUpstream(`Fields ${count}`), headers: { 'Notion-Version': '2022-06-28', 'X-Both': 'service' } },
      () => true,
    );
    const input_parameters = [
      { name: 'X-Both', type: 'string', in: 'header' },
      { name: 'X-Page', type: 'integer', in: 'header', default: 3 },
      { name: 'X-Absent', type: 'boolean', in: 'header' },
      { name: 'code', type: 'string' },
    ] as const;
    await executeAnother(here('/'), { input_parameters: [...input_parameters] }, { 'X-Both': 'agent', code: 'FR' });
    const { headers, body } = upstream.seen[0] ?? {};
    expect(headers).toMatchObject({ 'notion-version': '2022-06-28', 'x-both': 'service', 'x-page': '3' });
    expect([headers?.['x-absent'], body]).toEqual([undefined, '{"code":"FR"}']);
    expect(await executeAnother(here('/'), { input_parameters: [...input_parameters] }, { 'X-Both': 'a\r\nX-Admin: 1' })).toMatchObject({
      status: 400,
    });
  });

  test('an execution never fails while values change, and sends no earlier value after the change was answered', async () => {
    const accepted = new Set(['first', 'second']);
    const strictUpstream = await startUpstream(({ headers }, response) => {
      const isAccepted = accepted.has(String(headers['x-api-key']));
      response.writeHead(isAccepted ? 200 : 401).end('{"name":"France"}');
    }, certificate);
    const url = `https://api.world.example:${strictUpstream.port}`;
    const set = (value: string) => call('PUT', { headers: { 'X-Api-Key': value }, origins: [url] }, id);
    await set('first');
    const run = await openCalls(url);
    const statuses: number[] = [];
    const running = new Set<Promise<unknown>>();
    const callOnce = async () => {
      const called = run().then(({ status }) => statuses.push(status));
      running.add(called);
      await called;
      running.delete(called);
    };
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      while (!isOver) await callOnce();
    });
    await set('second');
    // calls that began before the answer may carry the earlier value
    await Promise.all(running);
    accepted.delete('first');
    const seenBefore = strictUpstream.seen.length;
    for (let calls = 0; calls < 5; calls++) await callOnce();
    isOver = true;
    await Promise.all(callers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const carried = strictUpstream.seen.slice(seenBefore).map(({ headers }) => headers['x-api-key']);
    expect(new Set(carried)).toEqual(new Set(['second']));
    await strictUpstream.stop();
  });

  test('an execution never fails while the upstream switches to known next values', async () => {
    let value = 'first';
    const switching = await startUpstream(({ headers }, response) => {
      response.writeHead(headers['x-api-key'] === value ? 200 : 401).end('{"name":"France"}');
    }, certificate);
    const url = `https://api.world.example:${switching.port}`;
    const next = { headers: { 'X-Api-Key': 'second' } };
    await call('PUT', { headers: { 'X-Api-Key': 'first' }, next, origins: [url] }, id);
    const run = await openCalls(url);
    expect(await receiptOf(run)).toMatchObject({ credential: 'sent' });
    const running = Array.from({ length: 20 }, async () => (await run()).status);
    while (switching.seen.length < 5) await setTimeout(1);
    value = 'second';
    expect(new Set(await Promise.all(running))).toEqual(new Set([200]));
    expect(await receiptOf(run)).toMatchObject({ credential: 'next' });
    // the values that were accepted last are tried first
    expect(switching.seen.at(-2)?.headers['x-api-key']).toBe('second');
    value = 'neither';
    const before = switching.seen.length;
    const refused = { status: 502, body: { error: { details: { upstream_status: 401 } } } };
    expect(await receiptOf(async () => expect(await run()).toMatchObject(refused))).toMatchObject({ sent: true });
    expect(switching.seen.length - before).toBe(2);
    await switching.stop();
  });

  test('an execution uses the earlier values if a PUT is interrupted before or after it has stored its own, until it is repeated', async () => {
    await call('PUT', input, id);
    const cut = () => Promise.reject(new Error('cut short'));
    const later = { header_name: 'X-Api-Key', header_value: 'later' };
    const faults: Partial<Credentials>[] = [{ add: cut }, { add: (...given) => credentials.add(...given).then(cut) }];
    for (const fault of faults) {
      expect(await call('PUT', later, id, {}, { ...credentials, ...fault })).toMatchObject({ status: 500 });
      expect(await run()).toMatchObject({ status: 200 });
      expect(upstream.seen.at(-1)?.headers['x-api-key']).toBe('Key canary');
    }
    await call('PUT', later, id);
    expect(await run()).toMatchObject({ status: 200 });
    expect(upstream.seen.at(-1)?.headers['x-api-key']).toBe('later');
  });

  test('an execution is refused after a DELETE was interrupted, until it is repeated', async () => {
    await call('PUT', input, id);
    const fault = { remove: () => credentials.remove(id).then(() => Promise.reject(new Error('cut short'))) };
    expect(await call('DELETE', undefined, id, {}, { ...credentials, ...fault })).toMatchObject({ status: 500 });
    expect(refusalOf(await run())).toEqual({
      status: 503,
      code: 'SERVICE_UNAVAILABLE',
      message: "The credential of the intent's service cannot be read at the moment. Nothing was sent; try again after Retry-After.",
      details: { reason: 'no_credential', outcome: 'not_sent', retry_after_seconds: 5 },
    });
    expect(upstream.seen).toEqual([]);
    await call('DELETE', undefined, id);
    expect(await run()).toMatchObject({ status: 200 });
    expect(upstream.seen[0]?.headers['x-api-key']).toBeUndefined();
  });

  test('an execution is refused if the record names an origin that the secret does not', async () => {
    const { version } = await credentials.add(id, makeCredential(input, ['https://home.example']));
    await services.setCredential(id, { headers: ['X-Api-Key'], query: [], origins: origins(), version, set_at: 1 }, () => true);
    expect(refusalOf(await run())).toMatchObject({ status: 503, details: { reason: 'no_credential', outcome: 'not_sent' } });
    expect(upstream.seen).toEqual([]);
  });

  /** Sets the credential; `happens` runs before its values are stored. */
  const putWhile = (happens: () => Promise<unknown>) =>
    call('PUT', input, id, {}, { ...credentials, add: async (...given) => happens().then(() => credentials.add(...given)) });

  test('an execution still has its credential after a concurrent PUT and DELETE', async () => {
    await call('PUT', input, id);
    expect(refusalOf(await putWhile(() => call('DELETE', undefined, id)))).toEqual(refusals.changed);
    expect(await run()).toMatchObject({ status: 200 });
  });

  test('an execution leaves no credential behind if its service is deleted meanwhile', async () => {
    expect(refusalOf(await putWhile(() => services.remove(id, () => true)))).toEqual(refusals.noSuchService);
    await expectNoValues(id);
  });
});

test.each(['PUT', 'DELETE'] as const)('%s of a service that does not exist is 404', async (method) => {
  expect(refusalOf(await call(method, input, '../x'))).toEqual(refusals.noSuchService);
});

describe('refused credentials', () => {
  const name = 'must be the name of a header field, for example Authorization';
  const reserved = 'must not be a header field that calls already carry or that controls the connection or the call';
  const value = 'must be visible ASCII characters and spaces between them';
  const five = 'must have at most 5 values, headers and query together';
  const https = 'must begin with https://';
  const path = 'must end with its host or port, without a path';
  const domain = 'must name its host by a full public domain name, not by an address or a local name';
  const steering = [
    'Host host Cookie Connection Keep-Alive TE Trailer Upgrade Expect Transfer-Encoding Content-Length content-type Content_Type',
    'Proxy-Authorization X-Forwarded-For X_Forwarded.For Forwarded Via Agent-Id Agent_Key Intent-Uid Execution-Id Idempotency-Key',
    'Signature Signature-Input X-Request-Id X-HTTP-Method-Override',
  ].flatMap((names) => names.split(' '));
  const many = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`X-${at}`, 'canary']));
  const headers = (given: string, text = 'canary') => ({ headers: { [given]: text } });
  const query = (given: string, text = 'canary') => ({ query: { [given]: text } });
  const at = (origin: string) => ({ ...headers('X-Key'), origins: [origin] });

  test.each<[Record<string, unknown>, string, string]>([
    [{}, '', 'must have headers, query or oauth'],
    [{ header_name: 'X-Key' }, '/header_value', 'is required with header_name'],
    [{ header_value: 'canary' }, '/header_name', 'is required with header_value'],
    [{ ...input, ...headers('X-Key') }, '/header_name', 'must be left out if headers or query is given'],
    [{ ...input, header_name: 'X Api' }, '/header_name', name],
    [{ ...input, header_value: 1 }, '/header_value', 'must be a string'],
    ...['X Api', 'X-Api\r\nHost', 'Ä', ':authority'].map((given): [Record<string, unknown>, string, string] => [
      headers(given),
      `/headers/${given}`,
      name,
    ]),
    [headers('x'.repeat(101)), `/headers/${'x'.repeat(101)}`, 'must have at most 100 characters'],
    ...steering.map((given): [Record<string, unknown>, string, string] => [headers(given), `/headers/${given}`, reserved]),
    ...['', 'a\r\nX-Admin: 1', ' a', 'a ', 'ä', 'a\0'].map((text): [Record<string, unknown>, string, string] => [
      headers('X-Key', text),
      '/headers/X-Key',
      value,
    ]),
    [headers('X-Key', 'x'.repeat(4097)), '/headers/X-Key', 'must have at most 4096 characters'],
    [{ headers: { 'X-Key': 'canary', x_key: 'canary' } }, '/headers/x_key', 'must not repeat a name in another spelling'],
    [{ headers: many }, '', five],
    [{ ...headers('X-Key'), next: { headers: many } }, '/next', five],
    [{ ...headers('X-Key'), next: {} }, '/next', 'must have headers or query'],
    [{ ...headers('X-Key'), next: headers('Host') }, '/next/headers/Host', reserved],
    [query('a b'), '/query/a b', 'must be the name of a query parameter in visible ASCII characters'],
    [query('a[]'), '/query/a[]', 'must not contain brackets'],
    [query('a', ''), '/query/a', 'must not be empty'],
    [query('a', 'x\n'), '/query/a', 'must not contain control characters'],
    [{ query: { 'api.key': 'canary', API_KEY: 'canary' } }, '/query/API_KEY', 'must not repeat a name in another spelling'],
    [{ ...input, origins: [] }, '/origins', 'must name an origin'],
    [at('http://api.example.com'), '/origins/0', https],
    [at('https://api.example.com/'), '/origins/0', path],
    [at('https://api.example.com?x'), '/origins/0', path],
    [at('https://api.example.com#x'), '/origins/0', path],
    [at('https://api.example.com\\@evil.example'), '/origins/0', path],
    [at('https://user@api.example.com'), '/origins/0', 'must not contain user information'],
    [at('https://api.example.com:444'), '/origins/0', 'must use port 443 or 8443'],
    [at('https://10.0.0.1'), '/origins/0', domain],
    [at('https://api.example'), '/origins/0', 'must not lead back to this gate'],
  ])('the credential %j is refused', async (body, at, problem) => {
    const refused = await call('PUT', body, serviceId, {}, credentials, strict);
    expect(refusalOf(refused)).toEqual(refusals.invalid([at, problem]));
    expect(JSON.stringify(refused.body)).not.toContain('canary');
    expect(await services.find(serviceId)).not.toHaveProperty('credential');
  });

  test.each(['http://10.0.0.1', 'http://localhost.example.com'])('even with loopback, the origin %s is refused', async (origin) => {
    const loose = { ...strict, allowLoopback: true };
    expect(refusalOf(await call('PUT', at(origin), serviceId, {}, credentials, loose))).toEqual(refusals.invalid(['/origins/0', https]));
  });

  test.each<[string, string]>([
    ['https://API.example.com:443', 'https://api.example.com'],
    ['https://api.example.com:8443', 'https://api.example.com:8443'],
    ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
  ])('a credential with the origin %s is accepted', async (origin, kept) => {
    const id = await newService();
    const { body } = await call('PUT', { ...input, origins: [origin, kept] }, id, {}, credentials, strict);
    expect(body.origins).toEqual([kept]);
  });

  test('a credential without origins is refused if the address of the service may not be called', async () => {
    const service_url = 'https://api.example.com:444/v1';
    const { service_id } = await services.create({ ...serviceNamed(`Elsewhere ${++count}`), service_url });
    const problem = 'is required, because the service_url of this service cannot be called over https';
    expect(refusalOf(await call('PUT', input, service_id, {}, credentials, strict))).toEqual(refusals.invalid(['/origins', problem]));
  });

  test("a credential is refused if it has one of the service's own header fields", async () => {
    const { service_id } = await services.create({ ...ofUpstream(`Own ${++count}`), headers: { x_api_key: 'shown' } });
    const problem = "must not contain one of the service's own headers; remove it there first";
    expect(refusalOf(await call('PUT', input, service_id))).toEqual(refusals.invalid(['/headers', problem]));
  });
});

test('a call that is connecting when the credential of its service is removed is not sent, and may be repeated under its key', async () => {
  const id = await newService();
  const uid = 'test.example:removed-while-connecting:v1';
  await gate.intents.create(id, intentOf(uid, { endpoint: { url: `${origins()[0]}/`, method: 'GET', content_type: 'application/json' } }));
  await call('PUT', input, id);
  const pat = await obtainPat(gate, await newAgent());
  let isRemoved = false;
  const connect = async () => {
    if (!isRemoved) return;
    expect((await call('DELETE', undefined, id)).status).toBe(204);
    letPass(recheckAfterMs + 50);
  };
  const steps = gate.openExecute({ connect });
  // from now on, the instance has the values in its cache
  expect((await execute(steps, pat, uid, { code: 'FR' })).status).toBe(200);
  upstream.seen.length = 0;
  isRemoved = true;
  const headers = { 'Idempotency-Key': 'slow' };
  const refused = await execute(steps, pat, uid, { code: 'FR' }, headers);
  expect(refusalOf(refused)).toEqual({
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'The credential of the service has just changed. Nothing was sent; try again after Retry-After.',
    details: { outcome: 'not_sent', retry_after_seconds: 1 },
  });
  expect(refused.headers['Retry-After']).toBe('1');
  expect(upstream.seen).toEqual([]);
  jest.restoreAllMocks();
  expect((await execute(gate.openExecute(), pat, uid, { code: 'FR' }, headers)).status).toBe(200);
  expect(upstream.seen.map(({ headers }) => headers['x-api-key'])).toEqual([undefined]);
});
