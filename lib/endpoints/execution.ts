import * as z from 'zod';
import { executionState, pendingExecution } from '../../schemas/deferred.ts';
import { executionRequest } from '../../schemas/execution.ts';
import { executionPage, executionsQuery } from '../../schemas/executions.ts';
import type { EndpointGroup } from './endpoint.ts';
import { currency, exampleBaseUrl, executionId } from './fixtures.ts';
import type { Needs } from './needs.ts';

const calling = {
  table: {
    intent: ['getAll', 'query'],
    service: ['getAll'],
    agent: ['getAll'],
    agentKey: ['getAll'],
    limit: ['get', 'put', 'update'],
    slowCalls: ['getAll', 'update'],
    publishedPolicy: ['getAll'],
  },
  egress: 'intents',
  credentials: 'read',
  policy: true,
} as const satisfies Needs;

export const deferredCalling = {
  ...calling,
  table: {
    ...calling.table,
    slowCalls: ['getAll', 'get', 'update'],
    execution: ['get'],
    call: ['get', 'update'],
    callQueue: ['get', 'put'],
  },
} as const satisfies Needs;

/** The head of the service's answer. */
const ofService = [
  'Upstream-Status',
  'Upstream-Location',
  'Upstream-Link',
  'Upstream-ETag',
  'Upstream-Operation-Location',
  'Upstream-Cut',
] as const;

export const execution = {
  'execute-intent': {
    specRow: 3,
    method: 'POST',
    path: '/api/intents/execute',
    alias: '/{protocol}/execute',
    summary: 'Run an intent with a PAT',
    description:
      'Checks the PAT, the policy, the parameters and the limits, calls the endpoint of the intent, and returns its answer: a JSON object unchanged, other content in an object. 200 means that the endpoint answered 2xx; `Answer-Issues` lists what does not match the output parameters. Numbers keep all digits that the endpoint sent, so read them exactly. If `details.outcome` of an error is `executed` or `unknown`, do not repeat the request blindly. A request with invalid parameters does not count against limits. Send an `Idempotency-Key` if you may have to repeat the request: nothing is executed twice under one key. To execute the intent only as you know it, send its `digest` (or an `ETag` of the intent) in `If-Match`: if it has changed, 409 lists the differences in `details.changed`, and nothing is called or counted.',
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
    requestHeaders: ['Idempotency-Key', 'Prefer', 'If-Match', 'DPoP', 'traceparent', 'tracestate'],
    answer: z.record(z.string(), z.unknown()),
    otherAnswers: {
      202: {
        description:
          'The call is made later, because the policy requires approval or you sent `Prefer: respond-async`. Poll `execution`, or repeat the request.',
        answer: pendingExecution,
      },
    },
    headers: [
      'RateLimit',
      'RateLimit-Policy',
      'Answer-Issues',
      'Answer-Missing',
      'Answer-Cut',
      ...ofService,
      'Budget-Warning',
      'Execution-Id',
      'Idempotent-Replayed',
    ],
    needs: {
      ...calling,
      table: {
        ...calling.table,
        call: ['get', 'put', 'update', 'delete'],
        execution: ['get', 'put'],
        callQueue: ['get', 'put'],
        jti: ['put'],
        earlierPolicy: ['get'],
      },
      kms: ['publicKey'],
      invokes: ['search-intents', 'run-deferred-call'],
    },
    executionAlarms: 'Execute',
    timeoutSeconds: 29,
    example: {
      body: { intent_uid: currency.intent_uid, parameters: { code: 'CHF' } },
      answer: { code: 'CHF', name: 'Swiss Franc', plural_name: 'Swiss francs', symbol: 'CHF', short_symbol: 'CHF', decimal_places: 2 },
    },
  },
  'list-executions': {
    method: 'GET',
    path: '/api/executions',
    summary: 'List recorded executions and refusals',
    description:
      'Read from the log, each once, complete after a minute or two; without parameters, answers and tokens. `intent-gate policy try` replays them under another policy. A page may be short or empty: follow `Link` until there is none.',
    credential: 'admin',
    query: executionsQuery,
    answer: executionPage,
    headers: ['Link'],
    needs: { table: { executed: ['query'] } },
    timeoutSeconds: 29,
    example: {
      query: { from: '2027-03-01T00:00:00Z' },
      answer: {
        executions: [
          {
            execution_id: executionId,
            agent_id: 'agent-7f3',
            outcome: 'OK',
            started_at: '2027-03-01T09:30:00.000Z',
            holder: '--6IM5l0OosLj9yWskISYhUA3n_3CURQkmrYMSha_ck',
            service_id: '01JWQ3K8Z5N7T9V2X4Y6B8D0FG',
            intent_uid: currency.intent_uid,
            method: 'GET',
            tags: [],
            sent: true,
          },
        ],
      },
    },
  },
  'get-execution': {
    method: 'GET',
    path: '/api/executions/{id}',
    summary: 'Read the state of a deferred call',
    description:
      'Needs a PAT of the agent that requested the call. For `done`, `outcome` has the status and body of an immediate answer. A call is counted only when it is made, and never made twice. The state is kept for 24 hours.',
    credential: 'pat',
    requestHeaders: ['DPoP'],
    answer: executionState,
    headers: ['Answer-Issues', 'Answer-Missing', 'Answer-Cut', ...ofService],
    needs: {
      table: {
        execution: ['get'],
        call: ['get', 'update'],
        intent: ['getAll'],
        service: ['getAll'],
        agent: ['getAll'],
        agentKey: ['getAll'],
        jti: ['put'],
        earlierPolicy: ['get'],
      },
      kms: ['publicKey'],
      policy: true,
      invokes: ['run-deferred-call'],
    },
    example: {
      path: { id: executionId },
      answer: { status: 'waiting', execution: `${exampleBaseUrl}/api/executions/${executionId}`, expires_at: '2027-03-01T12:00:00.000Z' },
    },
  },
} as const satisfies EndpointGroup;
