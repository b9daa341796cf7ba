import { join } from 'node:path';
import * as z from 'zod';
import { keepKeys, keyArn, keySpec, newKmsKey, startKms } from './kms.ts';
import { startDynamo } from './table.ts';
import type { LocalValues } from './template.ts';

/** Uses the DynamoDB at `endpoint`, else starts one. */
export async function locateDynamo(endpoint: string | undefined, folder: string | undefined) {
  return endpoint ? { endpoint, stop: async () => {} } : startDynamo(folder);
}

/** Properties of a KMS key in the template. */
export const keyProperties = z.object({ KeySpec: keySpec, KeyUsage: z.enum(['SIGN_VERIFY', 'GENERATE_VERIFY_MAC']) });

/**
 * Starts a KMS with the template's keys; `values` has their ids.
 * @param wanted - logical ids and properties of the keys
 * @param kept - folder that keeps the keys
 */
export async function startKeys(wanted: [id: string, z.infer<typeof keyProperties>][], kept: string | undefined) {
  const specs = new Map(wanted.map(([id, { KeySpec }]) => [id, KeySpec]));
  const made = () => Object.fromEntries([...specs].map(([id, spec]) => [id, newKmsKey(spec)]));
  const keys = kept === undefined ? made() : keepKeys(join(kept, 'kms-keys.json'), specs);
  const kms = await startKms({ keys: Object.values(keys) });
  const values = Object.entries(keys).map(([id, { keyId }]) => [id, { Ref: keyId, Arn: keyArn(keyId) }]);
  return { ...kms, values: Object.fromEntries(values) as LocalValues };
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
