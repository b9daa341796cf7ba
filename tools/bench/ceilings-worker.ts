/** A process that runs the sequencer or the counter once, and reports what it took. */

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { awsClientSettings } from '../../functions/core/aws/aws-client.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { openTable } from '../../functions/core/table/table.ts';
import { bucketLog } from '../../functions/receipts/log-store.ts';
import { receiptKeys } from '../../functions/receipts/records.ts';
import { openSequencer } from '../../functions/receipts/sequencer.ts';
import { tilePath } from '../../functions/receipts/tiles.ts';
import { usageKeys } from '../../functions/usage/records.ts';
import { openUsage } from '../../functions/usage/usage.ts';

export interface CeilingTask {
  step: 'sequence' | 'count' | 'keep';
  /** number of receipts or executions */
  entries: number;
}

export interface CeilingReport {
  processorMs: number;
  tookMs: number;
  /** bytes of resident memory at its highest, and before the run */
  peak: number;
  before: number;
  signatures: number;
}

// patient, because other work on this machine may delay the answers
const client = DynamoDBDocumentClient.from(new DynamoDBClient(awsClientSettings(30_000)));
const table = openTable({ registry: 'registry', activity: 'activity' }, client, 60_000);
const usage = openUsage(table);
const minute = Date.parse('2026-03-01T12:00:00Z');
const logSize = 4_000_000;

async function prepareLog(write: (path: string, content: Buffer) => Promise<void>): Promise<void> {
  for (let level = 0; Math.floor(logSize / 256 ** level) > 0; level++) {
    const count = Math.floor(logSize / 256 ** level);
    if (count % 256 > 0) await write(tilePath(level, Math.floor(count / 256), count % 256), randomBytes(32 * (count % 256)));
  }
}

/** @returns the run that is measured */
async function prepare({ step, entries }: CeilingTask): Promise<() => Promise<unknown>> {
  if (step === 'count') {
    await table.put({ ...usageKeys.changedMinute(0, minute), slot: minute, version: '1' });
    return () => usage.rollUp(() => 300_000);
  }
  if (step === 'keep') {
    const members = {
      outcome: 'OK',
      service_id: 'service-1',
      intent_uid: 'service-1.example:read:v1',
      method: 'GET',
      upstream_ms: 80,
    } as const;
    const executed = Array.from({ length: entries }, (_, at) => ({
      ...members,
      execution_id: newUlid(),
      at: minute,
      agent_id: `agent-${at}`,
    }));
    return () => usage.keep(executed);
  }
  const store = bucketLog('log');
  await prepareLog(store.write);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const origin = 'intent-gate/log/8d1f8a4e-0000-4000-8000-000000000000';
  const verifier = { origin, publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url') };
  await table.put({ ...receiptKeys.receiptLog(origin), size: logSize, checkpoint: 'earlier' });
  const logKey = {
    sign: async (text: Buffer) => {
      signatures++;
      return sign(null, text, privateKey);
    },
  };
  const sequence = openSequencer(
    { store, verifier: async () => verifier, logKey, publicKeys: async () => ({ key: '', 'jwks.json': '' }) },
    table,
  );
  return () => sequence(() => 300_000);
}

let signatures = 0;

process.once('message', async (task: CeilingTask) => {
  const run = await prepare(task);
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  await fetch(process.env.AWS_ENDPOINT_URL ?? '', { method: 'DELETE' });
  const [cpu, startMs] = [process.cpuUsage(), performance.now()];
  await run();
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(watch);
  const report: CeilingReport = { processorMs: (user + system) / 1_000, tookMs: performance.now() - startMs, peak, before, signatures };
  process.send?.(report);
  process.disconnect();
  process.exitCode = 0;
  setTimeout(() => process.exit(), 50);
});
