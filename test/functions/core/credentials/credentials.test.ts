import { randomUUID } from 'node:crypto';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { startSecrets } from '../../../../bin/local/secrets.ts';
import { makeCredential, openCredentials } from '../../../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../../../functions/core/credentials/vault.ts';
import { credentialInput } from '../../../../schemas/credential-input.ts';

const origins = ['https://api.world.example'];
const input = { headers: { 'X-Api-Key': 'canary' } };
const made = makeCredential(input, origins);

/** the errors with which the next operations are answered, by their names */
let faults: Record<string, string> = {};
const secrets = await startSecrets({
  disturb: (operation, answer) => {
    const __type = faults[operation];
    return __type === undefined ? answer : { status: 400, body: { __type, message: 'canary' } };
  },
});
const client = new SecretsManagerClient({
  endpoint: secrets.endpoint,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  maxAttempts: 1,
});

afterAll(async () => {
  client.destroy();
  await secrets.stop();
});
beforeEach(() => {
  secrets.operations.length = 0;
  faults = {};
});

/** A prefix under which no other test writes. */
const newVault = () => openSecretsManager(`intent-gate/${randomUUID()}/`, client);

/** What a service that has a credential is refused with while it is not there. */
const missing = {
  code: 'SERVICE_UNAVAILABLE',
  status: 503,
  message: 'The credential of the service is missing. Set it again, or remove it.',
};

test('what an operator reads of a credential sets the same one again, as docs/operations.md does to move it', () => {
  for (const next of [undefined, { headers: { 'X-Api-Key': 'next' } }]) {
    const kept = makeCredential({ ...input, next }, origins);
    const { origins: again = [], ...given } = credentialInput.parse(JSON.parse(JSON.stringify(kept)));
    expect(makeCredential(given, again)).toEqual(kept);
  }
});

test('every version of a credential is read as the record names it, whatever was read before, until all are removed', async () => {
  const vault = newVault();
  const credentials = openCredentials(vault);
  const another = openCredentials(vault);
  await expect(credentials.read('service-1', { version: '00000000-0000-4000-8000-000000000000' })).rejects.toMatchObject(missing);
  const first = await credentials.add('service-1', made);
  expect(made).toEqual({ headers: { 'X-Api-Key': 'canary' }, query: {}, origins });
  expect(await credentials.read('service-1', first)).toEqual(made);
  expect(await another.read('service-1', first)).toEqual(made);
  const changed = makeCredential({ headers: { 'X-Api-Key': 'new' } }, origins);
  const second = await credentials.add('service-1', changed);
  expect(await another.read('service-1', second)).toEqual(changed);
  expect(await openCredentials(vault).read('service-1', first)).toEqual(made);
  await expect(credentials.read('service-2', second)).rejects.toMatchObject(missing);
  await credentials.remove('service-1');
  await expect(openCredentials(vault).read('service-1', second)).rejects.toMatchObject(missing);
  await credentials.remove('service-1');
});

test('the vault is asked once in a while for each version', async () => {
  const credentials = openCredentials(newVault());
  const first = await credentials.add('service-1', made);
  secrets.operations.length = 0;
  for (let count = 0; count < 3; count++) await credentials.read('service-1', first);
  expect(secrets.operations).toEqual(['GetSecretValue']);
});

test('secrets have the names of their services, below the prefix', async () => {
  await openCredentials(openSecretsManager('intent-gate/test/', client)).add('service-1', made);
  expect(secrets.operations).toEqual(['PutSecretValue', 'CreateSecret']);
  const { Name } = await client.send(new GetSecretValueCommand({ SecretId: 'intent-gate/test/service-1' }));
  expect(Name).toBe('intent-gate/test/service-1');
});

test('two first writes at once both succeed', async () => {
  const vault = newVault();
  await Promise.all([vault.write('service-1', 'a'), vault.write('service-1', 'b')]);
  expect(['a', 'b']).toContain(await vault.read('service-1'));
});

test.each(['InternalServiceError', 'ThrottlingException', 'InvalidRequestException', 'DecryptionFailure'])(
  '%s is no absence: it is answered with 503',
  async (fault) => {
    const credentials = openCredentials(newVault());
    const version = await credentials.add('service-1', made);
    faults = { GetSecretValue: fault };
    await expect(credentials.read('service-1', version)).rejects.toMatchObject({
      name: 'ApiError',
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: 'The store of service credentials cannot be reached. Try again after Retry-After.',
      headers: { 'Retry-After': '1' },
    });
    faults = {};
    expect(await credentials.read('service-1', version)).toEqual(made);
  },
);
