import { buffer } from 'node:stream/consumers';
import type { AwsAccess } from '../core/aws/aws-client.ts';
import { openBucket } from '../core/aws/bucket.ts';
import { openKms } from '../core/aws/kms.ts';
import { readReceiptEnvironment } from './environment.ts';
import { type EvidenceKey, openEvidenceKey, originOf } from './evidence-keys.ts';
import { verifierKey } from './note.ts';

/** Where the log is published. */
export interface LogStore {
  /** @returns undefined if the object does not exist */
  read(path: string): Promise<Buffer | undefined>;
  write(path: string, content: Buffer | string): Promise<void>;
}

/** A log in a dedicated bucket. */
export function bucketLog(name: string, access?: AwsAccess): LogStore {
  const bucket = openBucket(name, '', access);
  return {
    read: async (path) => {
      const found = await bucket.read(path);
      return found && buffer(found);
    },
    write: (path, content) => {
      const bytes = Buffer.from(content);
      return bucket.write(path, [bytes], bytes.length);
    },
  };
}

/**
 * The receipt log of a deployment, with its keys.
 * @param logKeyId - key id or ARN, from which the log's name is derived
 */
export function openReceiptLog(store: LogStore, logKeyId: string, logKey: EvidenceKey, receiptKey: EvidenceKey) {
  const origin = originOf(logKeyId);
  const verifier = async () => ({ origin, publicKey: (await logKey.read()).publicKey });
  /** the objects that publish the keys beside the log, by name */
  const publicKeys = async () => {
    const { x, kid } = await receiptKey.read();
    const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
    return { key: `${verifierKey(await verifier())}\n`, 'jwks.json': JSON.stringify({ keys: [jwk] }) };
  };
  return { store, origin, verifier, logKey, publicKeys };
}

export type ReceiptLog = ReturnType<typeof openReceiptLog>;

/** The receipt log; undefined if the deployment issues no receipts. */
export function receiptLogFromEnvironment(): ReceiptLog | undefined {
  const { logBucket, logKey, receiptKey } = readReceiptEnvironment([], ['logBucket', 'logKey', 'receiptKey']);
  if (!logBucket || !logKey || !receiptKey) return undefined;
  const kms = openKms();
  return openReceiptLog(bucketLog(logBucket), logKey, openEvidenceKey(kms, logKey), openEvidenceKey(kms, receiptKey));
}
