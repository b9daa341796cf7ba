import { join } from 'node:path';
import { StartError } from './data-folder.ts';
import { region } from './json-service.ts';
import { keepKeys, keyArn, newKmsKey, startKms } from './kms.ts';
import { startDynamo } from './table.ts';
import type { LocalValues } from './template.ts';

const notOurs = async () => {};

/** The DynamoDB at `endpoint`, else one of our own. */
export async function locateDynamo(endpoint: string | undefined, folder: string | undefined) {
  return endpoint ? { endpoint, stop: notOurs } : startDynamo(folder);
}

/** The KMS in use, with the ids of the template's keys in it. */
export async function locateKms(endpoint: string | undefined, ids: string[], kept: string | undefined) {
  if (endpoint) return { endpoint, values: await createKeys(endpoint, ids), stop: notOurs };
  const keys = kept === undefined ? Object.fromEntries(ids.map((id) => [id, newKmsKey()])) : keepKeys(join(kept, 'kms-keys.json'), ids);
  const kms = await startKms({ keys: Object.values(keys) });
  const values = Object.entries(keys).map(([id, { keyId }]) => [id, { Ref: keyId, Arn: keyArn(keyId) }]);
  return { ...kms, values: Object.fromEntries(values) as LocalValues };
}

async function createKeys(endpoint: string, ids: string[]): Promise<LocalValues> {
  const { CreateKeyCommand, KMSClient } = await import('@aws-sdk/client-kms');
  const client = new KMSClient({ endpoint, region, credentials: localCredentials() });
  const create = async (id: string) => {
    const { KeyMetadata } = await client.send(new CreateKeyCommand({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' }));
    return [id, { Ref: KeyMetadata?.KeyId ?? '', Arn: KeyMetadata?.Arn ?? '' }];
  };
  try {
    return Object.fromEntries(await Promise.all(ids.map(create)));
  } catch (cause) {
    throw new StartError(`KMS at ${endpoint} cannot be reached or cannot create keys.`, { cause });
  } finally {
    client.destroy();
  }
}

/** Stand-ins for AWS do not check them; a service elsewhere may. */
export function localCredentials() {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId = 'local',
    AWS_SECRET_ACCESS_KEY: secretAccessKey = 'local',
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}
