import * as z from 'zod';
import { namedPolicyTrial, policyTrialQuery } from '../../schemas/executions.ts';
import type { Declaration } from '../declaration.ts';
import { agentId } from '../endpoints/fixtures.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** has the policy in `tryPolicyFile` beside its bundle */
    triesPolicy?: true;
  }
}

export const trial = {
  endpoints: {
    Policy: {
      'get-policy-trial': {
        method: 'GET',
        path: '/api/policy/try',
        summary: 'Read what the policy on trial would have decided',
        description:
          'The policy of the setting `tryPolicyFile` judges every execution, without effect. Returns which calls it would have refused, permitted or required approval for, by rule, agent and intent, among at most the newest 100,000 executions of the period; `since` is the time of the first. Limits count from that one.',
        credential: 'admin',
        errors: ['NOT_FOUND'],
        query: policyTrialQuery,
        answer: namedPolicyTrial,
        needs: { table: { usage: ['query'] }, policy: true, triesPolicy: true },
        timeoutSeconds: 29,
        memoryMb: 1024,
        example: {
          answer: {
            since: '2027-02-28T12:00:00.000Z',
            until: '2027-03-01T12:00:00.000Z',
            calls: 4_120,
            would_refuse: [
              {
                rule: '/permission/1/constraint/0',
                words: 'You may execute the intent pay.example:refund:v1 only if parameter amount is less than 500.',
                agent_id: agentId,
                intent_uid: 'pay.example:refund:v1',
                calls: 41,
                first: '2027-02-28T13:12:00.000Z',
                last: '2027-03-01T09:30:00.000Z',
              },
            ],
            would_permit: [],
            would_wait: [],
            unknown: [],
            gaps: [],
            rules: [
              {
                rule: '/permission/1',
                words: 'You may execute the intent pay.example:refund:v1 if parameter amount is less than 500.',
              },
            ],
          },
        },
      },
    },
  },
  additions: { 'execute-intent': { needs: { triesPolicy: true } }, 'run-deferred-call': { needs: { triesPolicy: true } } },
  settings: {
    tryPolicyFile: z
      .string()
      .min(1)
      .optional()
      .describe('file with a second policy, which is [tried on every execution](policy.md#trying-a-policy) but never enforced'),
  },
  policies: [{ setting: 'tryPolicyFile', file: 'try-policy.json', isNeeded: ({ triesPolicy }) => triesPolicy === true }],
} as const satisfies Declaration;
