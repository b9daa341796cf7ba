import { buffer } from 'node:stream/consumers';
import { openBucket, type S3Access } from '../bucket.ts';
import { readEnvironment } from '../environment.ts';
import { openKms } from '../kms.ts';
import { type EvidenceKey, openEvidenceKey, originOf } from './evidence-keys.ts';
import { verifierKey } from './note.ts';
import type { LogStore } from './sequencer.ts';
import { thumbprintOfX } from './signer.ts';

/** The log in a bucket that holds nothing else. */
export function bucketLog(name: string, access?: S3Access): LogStore {
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
 * The log of a deployment that gives receipts, with its keys.
 * @param logKeyId - key id or ARN, after which the log is named
 */
export function openReceiptLog(store: LogStore, logKeyId: string, logKey: EvidenceKey, receiptKey: EvidenceKey) {
  const origin = originOf(logKeyId);
  const verifier = async () => ({ origin, publicKey: (await logKey.read()).publicKey });
  /** as they are published beside the log */
  const publicKeys = async () => {
    const { x } = await receiptKey.read();
    const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid: thumbprintOfX(x), alg: 'EdDSA', use: 'sig' };
    return { key: `${verifierKey(await verifier())}\n`, 'jwks.json': JSON.stringify({ keys: [jwk] }) };
  };
  return { store, origin, verifier, logKey, publicKeys };
}

export type ReceiptLog = ReturnType<typeof openReceiptLog>;

/** undefined if the deployment gives no receipts */
export function receiptLogFromEnvironment(): ReceiptLog | undefined {
  const { logBucket, logKey, receiptKey } = readEnvironment([], ['logBucket', 'logKey', 'receiptKey']);
  if (!logBucket || !logKey || !receiptKey) return undefined;
  const kms = openKms();
  return openReceiptLog(bucketLog(logBucket), logKey, openEvidenceKey(kms, logKey), openEvidenceKey(kms, receiptKey));
}
