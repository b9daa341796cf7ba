import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { awsClientSettings } from '../aws/aws-client.ts';
import { unavailable } from '../runtime/api-error.ts';
import { bounded } from '../runtime/invocation.ts';

/** Timeout of one operation including retries, in milliseconds. */
const operationTimeoutMs = 2_500;

/**
 * AWS Secrets Manager: named secrets with their two newest versions.
 * @param prefix - of the names of this deployment's secrets, for example `intent-gate/prod/services/`
 */
export function openSecretsManager(prefix: string, client = new SecretsManagerClient(awsClientSettings(1_500))) {
  const overwrite = (id: string, secret: string) =>
    client.send(new PutSecretValueCommand({ SecretId: id, SecretString: secret, ClientRequestToken: randomUUID() }));

  return {
    /**
     * @param version - default: the newest
     * @returns undefined if there is no such secret
     * @throws ApiError SERVICE_UNAVAILABLE if Secrets Manager cannot be reached
     */
    read: (name: string, version?: string) =>
      reach(async () => {
        const command = new GetSecretValueCommand({ SecretId: prefix + name, VersionId: version });
        const found = await unless(ResourceNotFoundException, () => client.send(command));
        return found?.SecretString;
      }),
    /** @returns the version, which can be read while it is one of the two newest */
    write: (name: string, secret: string) =>
      reach(async () => {
        const id = prefix + name;
        const written =
          (await unless(ResourceNotFoundException, () => overwrite(id, secret))) ??
          (await unless(ResourceExistsException, () =>
            client.send(new CreateSecretCommand({ Name: id, SecretString: secret, ClientRequestToken: randomUUID() })),
          )) ??
          (await overwrite(id, secret));
        if (written.VersionId === undefined) throw new Error('Secrets Manager returned no version');
        return written.VersionId;
      }),
    remove: (name: string) =>
      reach(async () => {
        const command = new DeleteSecretCommand({ SecretId: prefix + name, ForceDeleteWithoutRecovery: true });
        await unless(ResourceNotFoundException, () => client.send(command));
      }),
  };
}

export type Vault = ReturnType<typeof openSecretsManager>;

async function unless<T>(expected: abstract new (...parameters: never[]) => Error, send: () => Promise<T>): Promise<T | undefined> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof expected) return undefined;
    throw error;
  }
}

async function reach<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await bounded(operationTimeoutMs, operation);
  } catch (error) {
    if (error instanceof Error && ['AccessDeniedException', 'InvalidParameterException'].includes(error.name)) throw error;
    throw unavailable('The store of service credentials cannot be reached. Try again after Retry-After.', error);
  }
}
