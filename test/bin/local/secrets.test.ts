import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CreateSecretCommand, GetSecretValueCommand, PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningService } from '../../../bin/local/json-service.ts';
import { startSecrets } from '../../../bin/local/secrets.ts';
import { makeFolder } from '../../support/folder.ts';

const folder = makeFolder();
const file = join(folder, 'secrets.json');
let service: RunningService;
let client: SecretsManagerClient;

const start = async () => {
  service = await startSecrets({ file });
  client = new SecretsManagerClient({
    endpoint: service.endpoint,
    region: 'eu-west-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
};
const stop = async () => {
  client.destroy();
  await service.stop();
};

beforeAll(start);
afterAll(stop);

const read = async (SecretId: string, VersionId?: string) =>
  (await client.send(new GetSecretValueCommand({ SecretId, VersionId }))).SecretString;

test('the two newest versions of a secret are kept', async () => {
  const created = await client.send(new CreateSecretCommand({ Name: 'a/b', SecretString: 'one' }));
  await client.send(new PutSecretValueCommand({ SecretId: 'a/b', SecretString: 'two' }));
  expect(await read('a/b')).toBe('two');
  expect(await read('a/b', created.VersionId)).toBe('one');
  await client.send(new PutSecretValueCommand({ SecretId: 'a/b', SecretString: 'three' }));
  await expect(read('a/b', created.VersionId)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
});

test('secrets outlive the stand-in, in a file that only its owner can read', async () => {
  await client.send(new CreateSecretCommand({ Name: 'kept', SecretString: 'value' }));
  expect([readdirSync(folder), statSync(file).mode & 0o777]).toEqual([['secrets.json'], 0o600]);
  await stop();
  await start();
  expect(await read('kept')).toBe('value');
});
