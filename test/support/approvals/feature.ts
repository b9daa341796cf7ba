import { openAnnouncements } from '../../../functions/approvals/announce.ts';
import { openApprovals } from '../../../functions/approvals/approvals.ts';
import { digestOfApproval } from '../../../functions/approvals/request.ts';
import { type DeferredContent, openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import type { ApprovalContent } from '../../../schemas/approvals/approvals.ts';
import { changes } from '../admin-case.ts';
import type { World } from '../admin-endpoints.ts';
import type { TestedFeature } from '../feature.ts';

/** A call that waits for approval, as far as a denial needs it. */
async function newWaitingCall({ table }: World, namespace: string | undefined) {
  const id = newUlid();
  const nowMs = Date.now();
  const request = { account: `account-${id}`, key: id, executionId: id, fingerprint: id, nowMs };
  const intent_uid = `${namespace ?? 'free.example'}:${id.toLowerCase()}:v1`;
  const shown = { id, intent_uid, parameters: {} } as ApprovalContent;
  const claims = { sub: id, cnf: { jkt: id } };
  const call = { claims, body: { parameters: {} }, changed: {}, omitted: [] };
  const content = { ...call, shown, namespace, baseUrl: '', requestId: '', intentDigest: '', trace: {} };
  await openDeferredCalls(table).begin(request, content as unknown as DeferredContent, nowMs + 60_000, nowMs);
  return { id, digest: digestOfApproval(shown) };
}

export const approvals: TestedFeature = {
  stores: (table, changeLog) => ({
    approvals: openApprovals(table, changeLog),
    deferred: openDeferredCalls(table),
    start: async () => {},
  }),
  cases: {
    'list-approvals': { prepare: async () => ({}), isForAll: true },
    'decide-approval': changes('execution', 'deny', async (world, namespace) => {
      const { id, digest } = await newWaitingCall(world, namespace);
      return { path: { id }, headers: { 'If-Match': `"${digest}"` }, body: { decision: 'deny' } };
    }),
  },
  invalid: [
    ['list-approvals', { query: { page_size: '0' } }],
    ['decide-approval', { body: { decision: 'maybe' } }],
  ],
  keepingClients(endpoint) {
    process.env.AWS_ENDPOINT_URL_EVENTBRIDGE = endpoint;
    const announce = openAnnouncements();
    return { EventBridge: () => announce({ id: 'a' } as ApprovalContent, 'digest', 'gate').then(() => 200) };
  },
};
