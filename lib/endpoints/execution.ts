import * as z from 'zod';
import { executionRequest } from '../../schemas/execution.ts';
import type { EndpointGroup } from './endpoint.ts';
import { currency } from './fixtures.ts';

export const execution = {
  'execute-intent': {
    row: 3,
    method: 'POST',
    path: '/api/intents/execute',
    alias: '/{protocol}/execute',
    summary: 'Run an intent with a PAT',
    description:
      'Checks the PAT, the policy, the parameters and the limits, calls the endpoint of the intent, and returns its answer: a JSON object as it is, and other content in an object. 200 means that the endpoint answered 2xx; `Answer-Issues` names what does not match the output parameters. Numbers have as many digits as the endpoint sent: read them exactly. If `details.outcome` of an error is `executed` or `unknown`, do not simply send the request again. A request that is refused for its parameters does not count against the limit. Send an `Idempotency-Key` if you may have to send the request again: nothing is executed twice under one key. Send the `digest` that you read in `If-Match` (or an `ETag` of the intent) to execute the intent only as you know it: 409 names in `details.changed` what is different, and nothing is called or counted.',
    credential: 'pat',
    errors: [
      'NOT_FOUND',
      'CONFLICT',
      'VERSION_CONFLICT',
      'INTENT_DEPRECATED',
      'TOO_MANY_REQUESTS',
      'INTENT_EXECUTION_FAILED',
      'INTENT_NOT_SUPPORTED',
      'GATEWAY_TIMEOUT',
    ],
    body: executionRequest,
    requestHeaders: ['Idempotency-Key', 'If-Match', 'DPoP', 'traceparent', 'tracestate'],
    answer: z.record(z.string(), z.unknown()),
    headers: ['RateLimit', 'RateLimit-Policy', 'Answer-Issues', 'Answer-Cut', 'Budget-Warning', 'Execution-Id', 'Idempotent-Replayed'],
    needs: {
      table: {
        intent: ['getAll', 'query'],
        service: ['getAll'],
        agent: ['getAll'],
        agentKey: ['getAll'],
        limit: ['get', 'put', 'update'],
        call: ['get', 'put', 'update', 'delete'],
        jti: ['put'],
        slowCalls: ['getAll', 'update'],
        policy: ['get'],
      },
      kms: ['publicKey'],
      egress: 'intents',
      credentials: 'read',
      invokes: ['search-intents'],
      policy: true,
    },
    timeoutSeconds: 29,
    memoryMb: 1024,
    example: {
      body: { intent_uid: currency.intent_uid, parameters: { code: 'CHF' } },
      answer: { code: 'CHF', name: 'Swiss Franc', plural_name: 'Swiss francs', symbol: 'CHF', short_symbol: 'CHF', decimal_places: 2 },
    },
  },
} as const satisfies EndpointGroup;
