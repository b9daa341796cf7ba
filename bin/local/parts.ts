import { join } from 'node:path';
import * as z from 'zod';
import { StartError } from './data-folder.ts';
import { region } from './json-service.ts';
import { keepKeys, keyArn, keySpec, newKmsKey, startKms } from './kms.ts';
import { startDynamo } from './table.ts';
import type { LocalValues } from './template.ts';

const keepRunning = async () => {};

/** Uses the DynamoDB at `endpoint`, else starts one. */
export async function locateDynamo(endpoint: string | undefined, folder: string | undefined) {
  return endpoint ? { endpoint, stop: keepRunning } : startDynamo(folder);
}

/** Properties of a KMS key in the template. */
export const keyProperties = z.object({ KeySpec: keySpec, KeyUsage: z.enum(['SIGN_VERIFY', 'GENERATE_VERIFY_MAC']) });

type WantedKey = [id: string, spec: z.infer<typeof keyProperties>];

/** Uses the KMS at `endpoint`, else starts one; `values` has the ids of the template's keys. */
export async function locateKms(endpoint: string | undefined, wanted: WantedKey[], kept: string | undefined) {
  if (endpoint) return { endpoint, values: await createKeys(endpoint, wanted), stop: keepRunning };
  const specs = new Map(wanted.map(([id, { KeySpec }]) => [id, KeySpec]));
  const made = () => Object.fromEntries([...specs].map(([id, spec]) => [id, newKmsKey(spec)]));
  const keys = kept === undefined ? made() : keepKeys(join(kept, 'kms-keys.json'), specs);
  const kms = await startKms({ keys: Object.values(keys) });
  const values = Object.entries(keys).map(([id, { keyId }]) => [id, { Ref: keyId, Arn: keyArn(keyId) }]);
  return { ...kms, values: Object.fromEntries(values) as LocalValues };
}

async function createKeys(endpoint: string, wanted: WantedKey[]): Promise<LocalValues> {
  const { CreateKeyCommand, KMSClient } = await import('@aws-sdk/client-kms');
  const client = new KMSClient({ endpoint, region, credentials: localCredentials() });
  const create = async ([id, spec]: WantedKey) => {
    const { KeyMetadata } = await client.send(new CreateKeyCommand(spec));
    return [id, { Ref: KeyMetadata?.KeyId ?? '', Arn: KeyMetadata?.Arn ?? '' }];
  };
  try {
    return Object.fromEntries(await Promise.all(wanted.map(create)));
  } catch (cause) {
    throw new StartError(`KMS at ${endpoint} cannot be reached or cannot create keys.`, { cause });
  } finally {
    client.destroy();
  }
}

/** Credentials for SDK clients. Stand-ins do not check them; an external service may. */
export function localCredentials() {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId = 'local',
    AWS_SECRET_ACCESS_KEY: secretAccessKey = 'local',
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}
