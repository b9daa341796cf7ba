import { createHmac } from 'node:crypto';
import { openSecretsManager } from '../core/credentials/vault.ts';
import { listQueue } from '../core/execution/call-queue.ts';
import { serveSchedule } from '../core/http/serve.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { openLiveIntents } from '../core/registry/live-intents.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { log } from '../core/runtime/log.ts';
import { type Item, type Table, tableFromEnvironment } from '../core/table/table.ts';
import { noticeOf } from './announce.ts';
import { type CallToApprove, openApprovals } from './approvals.ts';
import { readApprovalEnvironment } from './environment.ts';
import { noticesKey } from './records.ts';
import { openChoice } from './still-holds.ts';

export interface Deps {
  table: Table;
  findPolicy: FindPolicy;
  /** of the webhook */
  url: string;
  /** Reads the webhook's secret: `whsec_` and 24 to 64 bytes in base64. */
  readSecret: () => Promise<string | undefined>;
  /** for one request, in milliseconds */
  timeoutMs?: number;
}

/** Answers that may be about one notice only, such as those of a firewall to the name of an agent: later ones are sent. */
const refusesOne = [400, 403, 413, 422];

interface Told extends Item {
  ids: string[];
}

/** The bytes of a secret of Standard Webhooks. */
function keyOf(secret: string | undefined): Buffer {
  const key = Buffer.from(secret?.replace(/^whsec_/, '') ?? '', 'base64');
  if (key.length < 24 || key.length > 64) throw new Error('the secret of the webhook must be whsec_ and 24 to 64 bytes in base64');
  return key;
}

/**
 * Tells a webhook of calls that wait for approval, in the form of Standard Webhooks 1.0, without arguments: each at least once, under one
 * `webhook-id`, oldest first. Each run tries those again that the webhook did not accept, until they have been decided or have expired; unless its
 * answer may be about one notice only, later ones wait for the next run.
 */
export const createAction =
  ({ table, findPolicy, url, readSecret, timeoutMs = 5_000 }: Deps) =>
  async (_: unknown, remainingMs: () => number): Promise<void> => {
    const waiting = await listQueue(table, 'held', Date.now());
    const told = new Set((await table.get<Told>(noticesKey()))?.ids);
    const untold = waiting.filter(({ id }) => !told.has(id));
    if (untold.length === 0) return;
    const key = keyOf(await readSecret());
    const approvals = openApprovals(table);
    const isShown = openChoice({ intents: openLiveIntents(table), findPolicy });

    /** @returns the status of the answer; undefined if there is none */
    async function tell({ approval: { digest, ...shown }, content }: CallToApprove): Promise<number | undefined> {
      const data = noticeOf(shown, digest, content.baseUrl);
      const body = JSON.stringify({ type: 'approval.waiting', timestamp: shown.since, data });
      const [id, timestamp] = [`msg_${shown.id}`, String(Math.floor(Date.now() / 1_000))];
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
      const headers = { 'content-type': 'application/json', 'user-agent': 'intent-gate', ...signed };
      const request = { method: 'POST', headers, body, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) } as const;
      const answer = await fetch(url, request).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.status;
    }

    for (const { id } of untold) {
      if (remainingMs() < 2 * timeoutMs) break;
      const call = await approvals.find(id);
      const isWaiting = call?.item.state === 'waiting';
      // while a deployment replaces the policy, it may seem to have changed
      if (isWaiting && !(await isShown(call))) continue;
      const status = isWaiting ? await tell(call) : undefined;
      if (isWaiting && (status === undefined || status >= 300)) {
        // the address may contain a secret, so only its origin is logged
        log.error('notice not sent', { to: new URL(url).origin, status });
        if (refusesOne.includes(Number(status))) continue;
        break;
      }
      told.add(id);
    }
    const ids = waiting.map(({ id }) => id).filter((id) => told.has(id));
    await table.put({ ...noticesKey(), ids, expires_at: Math.ceil(Math.max(...waiting.map(({ until }) => until)) / 1_000) });
  };

const { notify, notifySecret } = readApprovalEnvironment(['notify', 'notifySecret']);

const table = tableFromEnvironment();

export const handler = serveSchedule(
  createAction({
    table,
    findPolicy: policyFromEnvironment(table),
    url: notify,
    readSecret: () => openSecretsManager('').read(notifySecret),
  }),
);
