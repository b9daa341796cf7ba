import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { account, type Disturb, operation, type RunningService, region, ServiceError, startJsonService } from './json-service.ts';

const name = z.string().regex(/^[\w/+=.@-]{1,512}$/, 'must be 1 to 512 letters, digits and /_+=.@-');
const value = z.string().min(1).max(65_536);
const readInput = z.object({ SecretId: name, VersionId: z.uuid().optional() });
const writeInput = z.object({ SecretId: name, SecretString: value });
const createInput = z.object({ Name: name, SecretString: value });
const deleteInput = z.object({
  SecretId: name,
  ForceDeleteWithoutRecovery: z.literal(true, 'must be true: no other deletion is supported here'),
});

const version = z.object({ value, version_id: z.uuid() });
const secretFile = z.record(name, version.extend({ previous: version.optional() }));

/**
 * A stand-in for Secrets Manager on a loopback port, with its wire protocol.
 * Supports CreateSecret, PutSecretValue, GetSecretValue and DeleteSecret of string secrets by name. Keeps two versions of each.
 * @param options.file - stores the secrets, readable only by its owner; default: in memory
 */
export async function startSecrets({ file, disturb }: { file?: string | undefined; disturb?: Disturb } = {}): Promise<RunningService> {
  const secrets = new Map(Object.entries(secretFile.parse((file && readJson(file)) ?? {})));
  const keep = () => file && writeJson(file, Object.fromEntries(secrets));

  const find = (id: string) => {
    const secret = secrets.get(id);
    if (!secret) throw new ServiceError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    return secret;
  };
  const put = (id: string, text: string) => {
    const version_id = randomUUID();
    const { previous: _, ...previous } = secrets.get(id) ?? {};
    secrets.set(id, { value: text, version_id, ...('value' in previous && { previous }) });
    keep();
    return { ...describe(id), VersionId: version_id, VersionStages: ['AWSCURRENT'] };
  };

  return startJsonService(
    {
      CreateSecret: operation(createInput, ({ Name, SecretString }) => {
        if (secrets.has(Name)) {
          throw new ServiceError('ResourceExistsException', `The operation failed because the secret ${Name} already exists.`);
        }
        return put(Name, SecretString);
      }),
      PutSecretValue: operation(writeInput, ({ SecretId, SecretString }) => {
        find(SecretId);
        return put(SecretId, SecretString);
      }),
      GetSecretValue: operation(readInput, ({ SecretId, VersionId }) => {
        const current = find(SecretId);
        const found = [current, current.previous].find((kept) => kept?.version_id === (VersionId ?? current.version_id));
        if (!found)
          throw new ServiceError('ResourceNotFoundException', "Secrets Manager can't find the specified secret value for VersionId.");
        const VersionStages = [found === current ? 'AWSCURRENT' : 'AWSPREVIOUS'];
        return { ...describe(SecretId), SecretString: found.value, VersionId: found.version_id, VersionStages };
      }),
      // Deleting a missing secret without recovery is not an error.
      DeleteSecret: operation(deleteInput, ({ SecretId }) => {
        if (secrets.delete(SecretId)) keep();
        return describe(SecretId);
      }),
    },
    disturb,
  );
}

const describe = (id: string) => ({ ARN: `arn:aws:secretsmanager:${region}:${account}:secret:${id}`, Name: id });
