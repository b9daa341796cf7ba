import type { ServerResponse } from 'node:http';
import { afterAll } from '@jest/globals';
import { approvalPage } from '../../schemas/approvals/approvals.ts';
import { intentOf } from '../support/records.ts';
import { type SeenRequest, startUpstream } from '../support/upstream.ts';
import { bodyOf, startApi } from './api.ts';

export const uid = 'payments.example:refund:v1';

const refunded = (_: SeenRequest, response: ServerResponse) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"refunded":true}');

/** A gate at which refunds of more than 500 wait for a person, and the service that makes them. */
export async function startRefunds(answer: Parameters<typeof startUpstream>[0] = refunded, options: Parameters<typeof startApi>[0] = {}) {
  const upstream = await startUpstream(answer);
  afterAll(() => upstream.stop());
  const api = await startApi({ policyFile: 'samples/policies/large-refunds-need-a-person.json', ...options });
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/refunds`, method: 'POST', content_type: 'application/json' } as const;
  await api.createIntent(intentOf(uid, { endpoint, input_parameters: [{ name: 'amount', type: 'number', required: true }] }));
  return {
    api,
    upstream,
    pat: await api.obtainPat('ann'),
    /** the bodies that came to the service */
    seen: () => upstream.seen.map(({ body }) => JSON.parse(body)),
    /** Decides about the only call that waits, once it does. @returns its id */
    async decide(decision: 'approve' | 'deny'): Promise<string> {
      for (;;) {
        const [found] = approvalPage.parse(bodyOf(await api.asAdmin('GET', '/api/approvals'))).approvals;
        if (found) {
          const body = { decision, reason: 'Too much' };
          bodyOf(await api.asAdmin('POST', `/api/approvals/${found.id}`, body, { 'If-Match': `"${found.digest}"` }));
          return found.id;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  };
}
