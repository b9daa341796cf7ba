import { randomUUID } from 'node:crypto';
import { unavailable } from '../api-error.ts';
import { openJsonService } from '../aws-json.ts';
import type { AwsAccess } from '../signed-request.ts';

/**
 * AWS Secrets Manager: named secrets with their two newest versions. `AWS_ENDPOINT_URL_SECRETS_MANAGER` overrides the endpoint.
 * @param prefix - of the names of this deployment's secrets, for example `intent-gate/prod/services/`
 */
export function openSecretsManager(prefix: string, access?: AwsAccess) {
  const call = openJsonService('secretsmanager', 'secretsmanager', { ...access, endpointVariable: 'SECRETS_MANAGER' });

  /** @returns undefined if the operation fails with the error that is named `unless` */
  async function send(operation: string, input: object, unless?: string): Promise<Record<string, string> | undefined> {
    try {
      return await call(operation, input);
    } catch (error) {
      const name = error instanceof Error ? error.name : '';
      if (name === unless) return undefined;
      if (['AccessDeniedException', 'InvalidParameterException'].includes(name)) throw error;
      throw unavailable('The store of service credentials cannot be reached. Try again after Retry-After.', error);
    }
  }

  return {
    /**
     * @param version - default: the newest
     * @returns undefined if there is no such secret
     * @throws ApiError SERVICE_UNAVAILABLE if Secrets Manager cannot be reached
     */
    read: async (name: string, version?: string) =>
      (await send('GetSecretValue', { SecretId: prefix + name, VersionId: version }, 'ResourceNotFoundException'))?.SecretString,
    /** @returns the version, which can be read while it is one of the two newest */
    write: async (name: string, secret: string) => {
      const id = prefix + name;
      const overwrite = { SecretId: id, SecretString: secret, ClientRequestToken: randomUUID() };
      const create = { Name: id, SecretString: secret, ClientRequestToken: randomUUID() };
      const written =
        (await send('PutSecretValue', overwrite, 'ResourceNotFoundException')) ??
        (await send('CreateSecret', create, 'ResourceExistsException')) ??
        (await send('PutSecretValue', overwrite));
      if (written?.VersionId === undefined) throw new Error('Secrets Manager returned no version');
      return written.VersionId;
    },
    remove: async (name: string): Promise<void> => {
      await send('DeleteSecret', { SecretId: prefix + name, ForceDeleteWithoutRecovery: true }, 'ResourceNotFoundException');
    },
  };
}

export type Vault = ReturnType<typeof openSecretsManager>;
