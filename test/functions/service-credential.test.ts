import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { VerifyAdmin } from '../../functions/core/admin/verify-admin.ts';
import type { Credentials } from '../../functions/core/credentials/credentials.ts';
import { unauthorized } from '../../functions/core/http/bearer.ts';
import type { Services } from '../../functions/core/store/services.ts';
import { createAction as createDeleteService } from '../../functions/delete-service.ts';
import { createAction as createDelete } from '../../functions/delete-service-credential.ts';
import { createAction as createPut } from '../../functions/put-service-credential.ts';
import { savedCredential } from '../../schemas/credential.ts';
import { toSavedService, toService } from '../../schemas/service.ts';
import { makeCertificate } from '../support/certificate.ts';
import { execute, type Gate, newAgent, obtainPat, startGate } from '../support/gate.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { refusals } from '../support/registry.ts';
import { startUpstream } from '../support/upstream.ts';

const certificate = makeCertificate('api.world.example');
let gate: Gate;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let services: Services;
let credentials: Credentials;
let serviceId: string;
let count = 0;
/** the valid admin token */
const token = 'Bearer good';
const verifyAdmin: VerifyAdmin = async (request) => {
  if (request.header('authorization') !== token) throw unauthorized('Send the header Authorization: Bearer <token>.');
};

beforeAll(async () => {
  upstream = await startUpstream((_, response) => response.end('{"name":"France"}'), certificate);
  gate = await startGate({
    rules: { ports: [443, upstream.port], allowLoopback: true, ownHosts: [] },
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    trustedCertificate: certificate.cert,
  });
  ({ services, credentials } = gate);
  ({ service_id: serviceId } = await services.create(serviceNamed('With a credential')));
});
afterAll(async () => {
  await gate.stop();
  await upstream.stop();
});

const newService = async () => (await services.create(serviceNamed(`Service ${++count}`))).service_id;
const missing = 'The credential of the service is missing. Set it again, or remove it.';

const call = (
  method: 'PUT' | 'DELETE',
  body: unknown,
  id = serviceId,
  headers: Record<string, string> = {},
  vault: Pick<Credentials, 'replace' | 'remove'> = credentials,
) => {
  const deps = { verifyAdmin, services, credentials: vault };
  return invoke(method === 'PUT' ? createPut(deps) : createDelete(deps), {
    method,
    path: `/api/services/${id}/credential`,
    pathParameters: { service_id: id },
    headers: { Authorization: token, 'Content-Type': 'application/json', ...headers },
    ...(method === 'PUT' && { body: JSON.stringify(body) }),
  });
};

const input = { header_name: 'X-Api-Key', header_value: 'Key canary' };
const refusal = (code: string, message: string, details: Record<string, unknown> = {}) => ({
  error: { code, message, details: { reference: expect.any(String), request_id: 'request-1', ...details } },
});

test('a credential is set without being shown, replaced with another key, and removed', async () => {
  const first = await call('PUT', input);
  expect(first).toMatchObject({ status: 200, headers: { 'Cache-Control': 'no-store' } });
  expect(first.body).toEqual({ service_id: serviceId, header_name: 'X-Api-Key', signing_key: expect.stringMatching(/^[\w-]{43}$/) });
  expect(savedCredential.parse(first.body)).toEqual(first.body);
  expect(await credentials.read(serviceId)).toEqual({ ...input, signing_key: first.body.signing_key });

  const second = await call('PUT', { ...input, header_name: 'Authorization' });
  expect(second.body.signing_key).not.toBe(first.body.signing_key);

  expect(await call('DELETE', undefined)).toMatchObject({ status: 204, body: undefined });
  await expect(credentials.read(serviceId)).rejects.toThrow(missing);
  expect(await call('DELETE', undefined)).toMatchObject({ status: 204 });
});

test('the credential is deleted with the service', async () => {
  const { service_id } = await services.create(serviceNamed('Deleted with its credential'));
  await call('PUT', input, service_id);
  const removeService = () =>
    invoke(createDeleteService({ verifyAdmin, services, credentials }), {
      method: 'DELETE',
      path: `/api/services/${service_id}`,
      pathParameters: { service_id },
      headers: { Authorization: token },
    });
  expect(await removeService()).toMatchObject({ status: 204 });
  await expect(credentials.read(service_id)).rejects.toThrow(missing);

  // the state after a deletion was interrupted between the record and the credential
  await credentials.replace(service_id, input);
  expect(await removeService()).toMatchObject({ status: 404 });
  await expect(credentials.read(service_id)).rejects.toThrow(missing);
});

describe('the record of the service', () => {
  test('says that it has a credential until it is removed, and no answer shows it', async () => {
    const id = await newService();
    const seen = await services.find(id);
    const beganMs = Date.now();
    const { headers } = await call('PUT', input, id);
    const record = await services.find(id);
    expect(record).toEqual({ ...seen, rev: expect.any(String), credential: { set_at: expect.any(Number) } });
    expect(record?.credential?.set_at).toBeGreaterThanOrEqual(beganMs);
    expect(headers.ETag).toBe(`"${record?.rev}"`);
    if (!record) throw new Error('the service is gone');
    for (const shown of [toService(record), toSavedService(record)]) expect(shown).not.toHaveProperty('credential');

    await services.replace(id, serviceNamed(`Renamed ${count}`), () => true);
    expect((await services.find(id))?.credential).toEqual(record.credential);

    await call('DELETE', undefined, id);
    expect(await services.find(id)).toEqual({
      ...record,
      service_name: `Renamed ${count}`,
      rev: expect.any(String),
      name_claim: expect.any(String),
      credential: undefined,
    });
  });

  test('keeps what two writers change at once', async () => {
    const id = await newService();
    const names = Array.from({ length: 5 }, (_, index) => `At once ${count} ${index}`);
    await Promise.all([call('PUT', input, id), ...names.map((name) => services.replace(id, serviceNamed(name), () => true))]);
    expect(await services.find(id)).toMatchObject({
      service_name: expect.stringMatching(/^At once/),
      credential: { set_at: expect.any(Number) },
    });
  });

  test('is no longer the one that somebody has read before', async () => {
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
});

describe('an execution', () => {
  let run: () => Promise<Answer>;
  let id: string;
  /** how often Secrets Manager was asked */
  const asked = () => gate.secrets.operations.filter((operation) => operation === 'GetSecretValue').length;

  beforeEach(async () => {
    id = await newService();
    const uid = `test.example:credential-${count}:v1`;
    const endpoint = { url: `https://api.world.example:${upstream.port}/`, method: 'POST', content_type: 'application/json' } as const;
    await gate.intents.create(id, intentOf(uid, { endpoint }));
    const pat = await obtainPat(gate, await newAgent());
    run = () => execute(gate.openExecute(), pat, uid, { code: 'FR' });
    gate.secrets.operations.length = 0;
    upstream.seen.length = 0;
  });

  test('asks for a credential only if the service has one', async () => {
    expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen[0]?.headers]).toEqual([0, expect.not.objectContaining({ 'x-api-key': expect.anything() })]);
    await call('PUT', input, id);
    for (let calls = 0; calls < 3; calls++) expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen.at(-1)?.headers['x-api-key']]).toEqual([1, 'Key canary']);
    await call('DELETE', undefined, id);
    expect(await run()).toMatchObject({ status: 200 });
    expect([asked(), upstream.seen.at(-1)?.headers['x-api-key']]).toEqual([1, undefined]);
  });

  test('on another origin goes out without the credential and without a signature, and says so in its log line', async () => {
    await call('PUT', input, id);
    const elsewhere = await startUpstream((_, response) => response.end('{"name":"France"}'), certificate);
    const uid = `test.example:elsewhere-${count}:v1`;
    const endpoint = { url: `https://api.world.example:${elsewhere.port}/collect`, method: 'POST', content_type: 'application/json' } as const;
    await gate.intents.create(id, intentOf(uid, { endpoint }));
    const pat = await obtainPat(gate, await newAgent());
    expect(await execute(gate.openExecute(), pat, uid, { code: 'FR' })).toMatchObject({ status: 200 });
    expect(Object.keys(elsewhere.seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['x-api-key']));
    expect(Object.keys(elsewhere.seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['signature']));
    await elsewhere.stop();
  });

  test.each<['PUT' | 'DELETE', Partial<Pick<Credentials, 'replace' | 'remove'>>]>([
    ['PUT', { replace: () => Promise.reject(new Error('cut short before the credential was written')) }],
    [
      'DELETE',
      { remove: () => credentials.remove(id).then(() => Promise.reject(new Error('cut short after the credential was removed'))) },
    ],
  ])('is refused while the credential is missing because a %s was cut short, until it is sent again', async (method, fault) => {
    if (method === 'DELETE') await call('PUT', input, id);
    expect(await call(method, input, id, {}, { ...credentials, ...fault })).toMatchObject({ status: 500 });
    const refused = await run();
    expect(refusalOf(refused)).toEqual({
      status: 503,
      code: 'SERVICE_UNAVAILABLE',
      message: "The credential of the intent's service cannot be read at the moment. Nothing was sent; try again after Retry-After.",
      details: { reason: 'no_credential', outcome: 'not_sent' },
    });
    expect(upstream.seen).toEqual([]);
    await call(method, input, id);
    expect(await run()).toMatchObject({ status: 200 });
    expect(upstream.seen[0]?.headers['x-api-key']).toBe(method === 'PUT' ? 'Key canary' : undefined);
  });

  test('is not left without the credential when a PUT and a DELETE meet', async () => {
    const meeting = {
      ...credentials,
      replace: async (...given: Parameters<Credentials['replace']>) => {
        await call('DELETE', undefined, id);
        return credentials.replace(...given);
      },
    };
    expect(refusalOf(await call('PUT', input, id, {}, meeting))).toEqual(refusals.changed);
  });

  test('leaves no credential behind when its service is deleted meanwhile', async () => {
    const meeting = {
      ...credentials,
      replace: async (...given: Parameters<Credentials['replace']>) => {
        await services.remove(id, () => true);
        return credentials.replace(...given);
      },
    };
    expect(refusalOf(await call('PUT', input, id, {}, meeting))).toEqual(refusals.noSuchService);
    await expect(credentials.read(id)).rejects.toThrow(missing);
  });
});

describe.each(['PUT', 'DELETE'] as const)('%s', (method) => {
  test('is for admins only', async () => {
    const { status, body } = await call(method, input, serviceId, { Authorization: 'Bearer bad' });
    expect({ status, body }).toEqual({ status: 401, body: refusal('UNAUTHORIZED', 'Send the header Authorization: Bearer <token>.') });
  });

  test.each(['01JD0000000000000000000000', 'unknown', '../x'])('of service %s, which does not exist', async (id) => {
    const { status, body } = await call(method, input, id);
    const message = 'No service has this service_id. Register it with POST /api/services, or check the id.';
    expect({ status, body }).toEqual({ status: 404, body: refusal('NOT_FOUND', message) });
  });
});

describe('a credential is refused', () => {
  const fieldName = 'must be the name of a header field, for example Authorization';
  const reserved = 'must not be a header field that calls carry anyway or that steers the connection';
  const value = 'must be visible ASCII characters and spaces between them';

  test.each<[Record<string, unknown>, string, string]>([
    [{ header_name: '' }, '/header_name', fieldName],
    [{ header_name: 'X Api' }, '/header_name', fieldName],
    [{ header_name: 'X-Api\r\nHost' }, '/header_name', fieldName],
    [{ header_name: 'Ä' }, '/header_name', fieldName],
    [{ header_name: ':authority' }, '/header_name', fieldName],
    [{ header_name: 'x'.repeat(101) }, '/header_name', 'must have at most 100 characters'],
    ...[
      'Host',
      'host',
      'Connection',
      'Transfer-Encoding',
      'Content-Length',
      'content-type',
      'Agent-Id',
      'Signature',
      'Proxy-Authorization',
      'TE',
      'Expect',
    ].map((name): [Record<string, unknown>, string, string] => [{ header_name: name }, '/header_name', reserved]),
    [{ header_value: '' }, '/header_value', value],
    [{ header_value: 'a\r\nX-Admin: 1' }, '/header_value', value],
    [{ header_value: ' a' }, '/header_value', value],
    [{ header_value: 'a ' }, '/header_value', value],
    [{ header_value: 'ä' }, '/header_value', value],
    [{ header_value: 'a\0' }, '/header_value', value],
    [{ header_value: 'x'.repeat(4097) }, '/header_value', 'must have at most 4096 characters'],
    [{ header_value: 1 }, '/header_value', 'must be a string'],
    [{ signing_key: 'chosen' }, '/signing_key', 'is not a known member; remove it'],
  ])('%j', async (change, path, problem) => {
    const { status, body } = await call('PUT', { ...input, ...change });
    const message = 'The request is not valid. Correct every place that details.issues names, then send it again.';
    expect({ status, body }).toEqual({ status: 400, body: refusal('INVALID_PARAMETER', message, { issues: [{ path, problem }] }) });
    expect(JSON.stringify(body)).not.toContain('canary');
    expect(await services.find(serviceId)).not.toHaveProperty('credential');
    await expect(credentials.read(serviceId)).rejects.toThrow(missing);
  });
});
