import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of connections. */
export const connectionVariables = {
  /** KMS key id or ARN of the key from which the key that seals tokens is derived */
  grantKey: 'GRANT_KEY_ID',
} as const;

export const readConnectionEnvironment = readerOf(connectionVariables);
