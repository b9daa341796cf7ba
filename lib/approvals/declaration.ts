import * as z from 'zod';
import '../../functions/approvals/records.ts';
import { isLoopbackHost, targetOf } from '../../functions/core/relay/egress.ts';
import { approvalPage, approvalQuery, decided, decisionInput } from '../../schemas/approvals/approvals.ts';
import type { Declaration } from '../declaration.ts';
import { executionId } from '../endpoints/fixtures.ts';
import { changes } from '../endpoints/needs.ts';
import { object, wholeNumber } from '../settings/kinds.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** sends events about calls that wait for approval */
    announces?: true;
    /** tells the webhook about them, which has a secret of its own */
    notifies?: true;
  }
}

const readAndWrite = ['get', 'put'] as const;

/** Needed to find out whether a waiting call can still be made. */
const checked = {
  execution: ['get'],
  call: ['get'],
  intent: ['getAll'],
  service: ['getAll'],
  agent: ['getAll'],
  agentKey: ['getAll'],
} as const;

/** Whether an address may be told of waiting calls: https, or this machine. */
function isWebhook(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.username === '' && (url.protocol === 'https:' || isLoopbackHost(targetOf(url).hostname));
}

export const approvals = {
  endpoints: {
    Execution: {
      'list-approvals': {
        method: 'GET',
        path: '/api/approvals',
        summary: 'List the calls that wait for your approval',
        description:
          'Oldest first, with every argument, the rule that requires approval, and the price. Admins of a namespace see the calls of its services.',
        credential: 'admin',
        query: approvalQuery,
        answer: approvalPage,
        headers: ['Link'],
        needs: { table: { ...checked, held: ['getAll'] }, policy: true },
        example: { answer: { approvals: [], waiting: 0 } },
      },
      'decide-approval': {
        method: 'POST',
        path: '/api/approvals/{id}',
        summary: 'Approve or deny a waiting call',
        description:
          'Send the `digest` of the approval in `If-Match`, so that exactly the call that you saw is made, once. 409 if somebody else has decided, the call has expired, or the policy, the intent or the agent has changed since the request.',
        credential: 'admin',
        body: decisionInput,
        requestHeaders: ['If-Match'],
        answer: decided,
        needs: {
          table: { ...changes, ...checked, held: ['get', 'put'], call: ['get', 'getAll', 'update'] },
          policy: true,
          invokes: ['run-deferred-call'],
        },
        example: {
          path: { id: executionId },
          body: { decision: 'approve' },
          answer: { id: executionId, decision: 'approve', decided_by: 'admin', decided_at: '2027-03-01T11:30:00.000Z' },
        },
      },
    },
  },
  background: [
    {
      name: 'send-notices',
      summary: 'Tell the webhook of calls that wait for approval',
      everyMinutes: 1,
      isQuiet: true,
      isUsed: ({ notify }) => notify !== undefined,
      needs: {
        table: { ...checked, held: ['getAll'], notices: ['get', 'put'] },
        policy: true,
        notifies: true,
      },
      logMetrics: { Unsent: { metric: 'UnsentNotices', pattern: '$.message = "notice not sent"' } },
      alarms: {
        NoticeErrors: { metric: 'failedRuns', above: 2, description: 'The webhook is not told of calls that wait for approval.' },
        UnsentNotices: { metric: { sum: 'UnsentNotices' }, above: 2, description: 'The webhook does not accept notices of waiting calls.' },
      },
      timeoutSeconds: 55,
      memoryMb: 512,
    },
  ],
  additions: {
    'execute-intent': { needs: { table: { held: readAndWrite }, announces: true } },
    'get-execution': { needs: { table: { held: readAndWrite } } },
  },
  settings: {
    approvalSeconds: wholeNumber(60, 12 * 3_600)
      .default(3_600)
      .describe('how long a call may wait for an approval that the policy requires, in seconds'),
    notify: object(
      z.strictObject({
        url: z.string().refine(isWebhook, 'must be an https address without user information'),
        secret: z.string().regex(/^[\w/+=.@-]{1,500}$/, 'must be the name of a secret in Secrets Manager'),
      }),
    )
      .optional()
      .describe('`{"url","secret"}`: a [webhook](approvals.md#notices) that is told of waiting calls, and the name of its secret'),
  },
  records: { held: 'calls that wait for approval', notices: 'which of them the webhook was told of' },
} as const satisfies Declaration;
