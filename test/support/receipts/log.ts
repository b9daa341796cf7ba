import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKmsKey, startKms } from '../../../bin/local/kms.ts';
import { startS3 } from '../../../bin/local/s3.ts';
import { openKms } from '../../../functions/core/aws/kms.ts';
import { openEvidenceKey } from '../../../functions/receipts/evidence-keys.ts';
import { bucketLog, openReceiptLog } from '../../../functions/receipts/log-store.ts';

const at = { region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/** The keys of a deployment that gives receipts, and an empty log in a bucket of its own, over stand-ins for KMS and S3. */
export async function startReceiptLog() {
  const folder = await mkdtemp(join(tmpdir(), 'log-'));
  const [receipts, checkpoints] = [newKmsKey('ECC_NIST_EDWARDS25519'), newKmsKey('ECC_NIST_EDWARDS25519')];
  const kms = await startKms({ keys: [receipts, checkpoints] });
  const s3 = await startS3({ folder, buckets: ['log'] });
  const client = openKms({ endpoint: kms.endpoint, ...at });
  const certifier = openEvidenceKey(client, receipts.keyId);
  const store = bucketLog('log', { endpoint: s3.endpoint, ...at });
  return {
    kms,
    certifier,
    log: openReceiptLog(store, checkpoints.keyId, openEvidenceKey(client, checkpoints.keyId), certifier),
    stop: async () => {
      await Promise.all([kms.stop(), s3.stop()]);
      await rm(folder, { recursive: true });
    },
  };
}
