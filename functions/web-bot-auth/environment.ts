import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of signatures. */
export const signatureVariables = {
  /** KMS key id or ARN of the key from which the keys that sign calls are derived */
  callKey: 'CALL_KEY_ID',
} as const;

export const readSignatureEnvironment = readerOf(signatureVariables);
