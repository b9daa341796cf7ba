import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ApiError } from '../../../../functions/core/api-error.ts';
import { openCredentials } from '../../../../functions/core/credentials/credentials.ts';
import { emptyVault, openFolderVault, openSecretsManager, type Vault } from '../../../../functions/core/credentials/vault.ts';

const input = { header_name: 'X-Api-Key', header_value: 'canary' };

/** Secrets Manager's wire protocol, as far as a vault needs it. */
const secrets = new Map<string, string>();
const operations: string[] = [];
/** the error that the next operations are answered with, by their names */
let faults: Record<string, string> = {};
const respond: Record<string, (request: Record<string, string>) => object | string> = {
  GetSecretValue: ({ SecretId = '' }) =>
    secrets.has(SecretId) ? { Name: SecretId, SecretString: secrets.get(SecretId) } : 'ResourceNotFoundException',
  PutSecretValue: ({ SecretId = '', SecretString = '' }) => {
    if (!secrets.has(SecretId)) return 'ResourceNotFoundException';
    secrets.set(SecretId, SecretString);
    return { Name: SecretId };
  },
  CreateSecret: ({ Name = '', SecretString = '' }) => {
    if (secrets.has(Name)) return 'ResourceExistsException';
    secrets.set(Name, SecretString);
    return { Name };
  },
  DeleteSecret: ({ SecretId = '', ForceDeleteWithoutRecovery }) =>
    secrets.delete(SecretId) && ForceDeleteWithoutRecovery ? { Name: SecretId } : 'ResourceNotFoundException',
};
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const operation = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
  operations.push(operation);
  const answer = faults[operation] ?? respond[operation]?.(JSON.parse(Buffer.concat(chunks).toString())) ?? 'InvalidRequestException';
  const isError = typeof answer === 'string';
  response.writeHead(isError ? 400 : 200, { 'Content-Type': 'application/x-amz-json-1.1' });
  response.end(JSON.stringify(isError ? { __type: answer, message: 'canary' } : answer));
});

let client: SecretsManagerClient;
let folder: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new SecretsManagerClient({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  });
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
});
afterAll(() => {
  client.destroy();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  secrets.clear();
  operations.length = 0;
  faults = {};
});

const vaults: [string, () => Vault][] = [
  ['Secrets Manager', () => openSecretsManager('intent-gate/test/', client)],
  ['a folder', () => openFolderVault(join(folder, 'vault'))],
];

describe.each(vaults)('in %s', (_, open) => {
  test('a credential is set, replaced, read and removed', async () => {
    const credentials = openCredentials(open());
    expect(await credentials.find('service-1')).toBeUndefined();
    const first = await credentials.replace('service-1', input);
    expect(first).toEqual({ ...input, signing_key: expect.stringMatching(/^[\w-]{43}$/) });
    expect(await credentials.find('service-1')).toEqual(first);
    const second = await credentials.replace('service-1', { ...input, header_value: 'new' });
    expect(second.signing_key).not.toBe(first.signing_key);
    expect(await openCredentials(open()).find('service-1')).toEqual(second);
    expect(await credentials.find('service-2')).toBeUndefined();
    await credentials.remove('service-1');
    expect(await credentials.find('service-1')).toBeUndefined();
    await credentials.remove('service-1');
  });

  test('is asked once in a while, and again when a credential was forgotten', async () => {
    const vault = open();
    let reads = 0;
    const counting: Vault = {
      ...vault,
      read: (name) => {
        reads++;
        return vault.read(name);
      },
    };
    const credentials = openCredentials(counting);
    for (let count = 0; count < 3; count++) await credentials.find('unknown');
    expect(reads).toBe(1);
    credentials.forget('unknown');
    await credentials.find('unknown');
    expect(reads).toBe(2);
  });
});

test('secrets have the names of their services, below the prefix', async () => {
  await openCredentials(openSecretsManager('intent-gate/test/', client)).replace('service-1', input);
  expect([...secrets.keys()]).toEqual(['intent-gate/test/service-1']);
  expect(operations).toEqual(['PutSecretValue', 'CreateSecret']);
});

test('two first writes at once both succeed', async () => {
  const vault = openSecretsManager('', client);
  await Promise.all([vault.write('service-1', 'a'), vault.write('service-1', 'b')]);
  expect(['a', 'b']).toContain(await vault.read('service-1'));
});

test.each(['InternalServiceError', 'ThrottlingException', 'InvalidRequestException', 'DecryptionFailure'])(
  '%s is no absence: it is answered with 503',
  async (fault) => {
    const credentials = openCredentials(openSecretsManager('', client));
    faults = { GetSecretValue: fault };
    const refusal = await credentials.find('service-1').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: 'The credentials of services cannot be reached. Try again after Retry-After.',
      headers: { 'Retry-After': '1' },
    });
    faults = {};
    expect(await credentials.find('service-1')).toBeUndefined();
  },
);

test('files are for their owner alone, and no name leads out of the folder', async () => {
  const vault = openFolderVault(join(folder, 'owned'));
  await vault.write('../../escaped', 'secret');
  const files = readdirSync(join(folder, 'owned'));
  expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.secret$/)]);
  const file = join(folder, 'owned', files[0] ?? '');
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['secret', 0o600]);
});

test('without a place for them there are none, and none can be set', async () => {
  const credentials = openCredentials(emptyVault);
  expect(await credentials.find('service-1')).toBeUndefined();
  await expect(credentials.replace('service-1', input)).rejects.toMatchObject({
    code: 'NOT_IMPLEMENTED',
    status: 501,
    message: 'This deployment keeps no credentials of services. Deploy it with a place for them.',
  });
});
