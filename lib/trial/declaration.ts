import { fillTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { writtenPolicy } from '../../schemas/policy.ts';
import { namedPolicyTrial, policyOnTrial, policyTrialQuery } from '../../schemas/trial/policy-trial.ts';
import type { Declaration } from '../declaration.ts';
import { wholeProcessorMb } from '../endpoints/endpoint.ts';
import { agentId, exampleBaseUrl } from '../endpoints/fixtures.ts';
import { policyChanges } from '../endpoints/needs.ts';

export const trial = {
  endpoints: {
    Policy: {
      'put-policy-trial': {
        method: 'PUT',
        path: '/api/policy/try',
        summary: 'Put a policy on trial',
        description:
          'The policy in the body judges every execution that begins from now on, without effect, in place of an earlier one on trial.',
        credential: 'admin',
        body: writtenPolicy,
        answer: policyOnTrial,
        needs: { table: policyChanges, policy: true },
        timeoutSeconds: 29,
        memoryMb: wholeProcessorMb,
        example: ({ policy }) => ({
          body: fillTemplate(parsePolicyTemplate(policy), exampleBaseUrl),
          answer: { version: '0o5b2eVw7mC3hTzK8rQ1sYxJ4nLd6uPaFgEiRtWyXcM', seq: 1713 },
        }),
      },
      'delete-policy-trial': {
        method: 'DELETE',
        path: '/api/policy/try',
        summary: 'End the trial of a policy',
        description: 'Executions are no longer judged by it. What it has judged cannot be read any more.',
        credential: 'admin',
        errors: ['NOT_FOUND'],
        needs: { table: policyChanges, policy: true },
        example: {},
      },
      'get-policy-trial': {
        method: 'GET',
        path: '/api/policy/try',
        summary: 'Read what the policy on trial would have decided',
        description:
          'The policy on trial judges every execution, without effect. Returns which calls it would have refused, permitted or required approval for, by rule, agent and intent, among at most the newest 100,000 executions of the period; `since` is the time of the first. Limits count from that one.',
        credential: 'admin',
        errors: ['NOT_FOUND'],
        query: policyTrialQuery,
        answer: namedPolicyTrial,
        needs: { table: { executed: ['query'] }, policy: true },
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
} as const satisfies Declaration;
