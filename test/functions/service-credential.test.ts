import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RunningService } from '../../bin/local/json-service.ts';
import { startSecrets } from '../../bin/local/secrets.ts';
import type { VerifyAdmin } from '../../functions/core/admin/verify-admin.ts';
import { type Credentials, openCredentials } from '../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../functions/core/credentials/vault.ts';
import { unauthorized } from '../../functions/core/http/bearer.ts';
import { openServices, type Services } from '../../functions/core/store/services.ts';
import { createAction as createDeleteService } from '../../functions/delete-service.ts';
import { createAction as createDelete } from '../../functions/delete-service-credential.ts';
import { createAction as createPut } from '../../functions/put-service-credential.ts';
import { savedCredential } from '../../schemas/credential.ts';
import { invoke } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { startTable, type TestTable } from '../support/table.ts';

let local: TestTable;
let secrets: RunningService;
let client: SecretsManagerClient;
let services: Services;
let credentials: Credentials;
let serviceId: string;
/** the valid admin token */
const token = 'Bearer good';
const verifyAdmin: VerifyAdmin = async (request) => {
  if (request.header('authorization') !== token) throw unauthorized('Send the header Authorization: Bearer <token>.');
};

beforeAll(async () => {
  local = await startTable();
  secrets = await startSecrets();
  const { endpoint } = secrets;
  client = new SecretsManagerClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });
  services = openServices(local.table);
  credentials = openCredentials(openSecretsManager('', client));
  ({ service_id: serviceId } = await services.create(serviceNamed('With a credential')));
});
afterAll(async () => {
  await local.stop();
  client.destroy();
  await secrets.stop();
});

const call = (method: 'PUT' | 'DELETE', body: unknown, id = serviceId, headers: Record<string, string> = {}) =>
  invoke(method === 'PUT' ? createPut({ verifyAdmin, services, credentials }) : createDelete({ verifyAdmin, services, credentials }), {
    method,
    path: `/api/services/${id}/credential`,
    pathParameters: { service_id: id },
    headers: { Authorization: token, 'Content-Type': 'application/json', ...headers },
    ...(method === 'PUT' && { body: JSON.stringify(body) }),
  });

const input = { header_name: 'X-Api-Key', header_value: 'Key canary' };
const refusal = (code: string, message: string, details: Record<string, unknown> = {}) => ({
  error: { code, message, details: { reference: expect.any(String), request_id: 'request-1', ...details } },
});

test('a credential is set without being shown, replaced with another key, and removed', async () => {
  const first = await call('PUT', input);
  expect(first).toMatchObject({ status: 200, headers: { 'Cache-Control': 'no-store' } });
  expect(first.body).toEqual({ service_id: serviceId, header_name: 'X-Api-Key', signing_key: expect.stringMatching(/^[\w-]{43}$/) });
  expect(savedCredential.parse(first.body)).toEqual(first.body);
  expect(await credentials.find(serviceId)).toEqual({ ...input, signing_key: first.body.signing_key });

  const second = await call('PUT', { ...input, header_name: 'Authorization' });
  expect(second.body.signing_key).not.toBe(first.body.signing_key);

  expect(await call('DELETE', undefined)).toMatchObject({ status: 204, body: undefined });
  expect(await credentials.find(serviceId)).toBeUndefined();
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
  expect(await credentials.find(service_id)).toBeUndefined();

  // the state after a deletion was interrupted between the record and the credential
  await credentials.replace(service_id, input);
  expect(await removeService()).toMatchObject({ status: 404 });
  expect(await credentials.find(service_id)).toBeUndefined();
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
    expect(await credentials.find(serviceId)).toBeUndefined();
  });
});
