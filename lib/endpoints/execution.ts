import * as z from 'zod';
import { approvalPage, approvalQuery, decided, decisionInput, executionState, pendingExecution } from '../../schemas/deferred.ts';
import { executionRequest } from '../../schemas/execution.ts';
import { executionPage, executionsQuery } from '../../schemas/executions.ts';
import { type EndpointGroup, noExample } from './endpoint.ts';
import { currency, exampleBaseUrl } from './fixtures.ts';
import { changes, type Needs } from './needs.ts';

const executionId = '01JWQ3K8Z5N7T9V2X4Y6B8D0FG';

const calling = {
  table: {
    intent: ['getAll', 'query'],
    service: ['getAll'],
    agent: ['getAll'],
    agentKey: ['getAll'],
    limit: ['get', 'put', 'update'],
    slowCalls: ['getAll', 'update'],
  },
  egress: 'intents',
  credentials: 'read',
  callKey: true,
  policy: true,
  triesPolicy: true,
} as const satisfies Needs;

export const deferredCalling = {
  ...calling,
  table: { ...calling.table, execution: ['get'], call: ['get', 'update'], callQueue: ['delete'], newReceipt: ['put'] },
  receipts: 'give',
} as const satisfies Needs;

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
    requestHeaders: ['Idempotency-Key', 'Prefer', 'If-Match', 'DPoP', 'traceparent', 'tracestate'],
    answer: z.record(z.string(), z.unknown()),
    others: {
      202: {
        description:
          'The call is made later: it waits for the approval that the policy demands, or you sent `Prefer: respond-async`. Ask `execution` for its state, or send the request again.',
        answer: pendingExecution,
      },
    },
    headers: [
      ...([
        'RateLimit',
        'RateLimit-Policy',
        'Answer-Issues',
        'Answer-Cut',
        'Budget-Warning',
        'Execution-Id',
        'Idempotent-Replayed',
      ] as const),
      ...(['Execution-Receipt', 'Execution-Receipt-Salts'] as const),
    ],
    needs: {
      ...calling,
      table: {
        ...calling.table,
        call: ['get', 'put', 'update', 'delete'],
        execution: ['get', 'put'],
        approval: ['query', 'put', 'delete'],
        callQueue: ['query', 'put'],
        jti: ['put'],
        policy: ['get'],
        newReceipt: ['put'],
      },
      receipts: 'give',
      kms: ['publicKey'],
      invokes: ['search-intents', 'run-deferred-call'],
      announces: true,
    },
    timeoutSeconds: 29,
    memoryMb: 1024,
    example: {
      body: { intent_uid: currency.intent_uid, parameters: { code: 'CHF' } },
      answer: { code: 'CHF', name: 'Swiss Franc', plural_name: 'Swiss francs', symbol: 'CHF', short_symbol: 'CHF', decimal_places: 2 },
    },
  },
  'list-executions': {
    method: 'GET',
    path: '/api/executions',
    summary: 'Read executions and refusals as they were recorded',
    description:
      'From the log, each once, complete after a minute or two; without parameters, answers and tokens. `intent-gate policy try` tries policies on them. A page may be short or empty: follow `Link` until there is none.',
    credential: 'admin',
    query: executionsQuery,
    answer: executionPage,
    headers: ['Link'],
    needs: { table: { usage: ['query'] } },
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
    summary: 'Read what has become of a call that is made later',
    description:
      'With the PAT of the holder that asked for the call. `done` has in `outcome` what executing would have answered. Nothing is counted for a call before it is made, and it is never made twice. Kept for 24 hours.',
    credential: 'pat',
    requestHeaders: ['DPoP'],
    answer: executionState,
    headers: ['Answer-Issues', 'Answer-Cut', 'Execution-Receipt', 'Execution-Receipt-Salts'],
    needs: {
      table: {
        execution: ['get'],
        approval: ['delete'],
        call: ['get', 'update'],
        intent: ['getAll'],
        service: ['getAll'],
        agent: ['getAll'],
        agentKey: ['getAll'],
        jti: ['put'],
        policy: ['get'],
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
  'get-proof': {
    method: 'GET',
    path: '/api/executions/{id}/proof',
    summary: 'Prove that the receipt of an execution is in the log',
    description:
      'A proof in C2SP `tlog-proof` format against the newest checkpoint, for anybody who has the receipt; the id is that in the receipt. 404 with the reason `waiting` until the receipt is in the log, five minutes at most. Kept for 400 days.',
    credential: 'none',
    answer: z.string(),
    mediaType: 'text/plain',
    needs: { table: { newReceipt: ['get'], loggedReceipt: ['get'], receiptLog: ['get'] }, receipts: 'read' },
    example: noExample,
  },
  'list-approvals': {
    method: 'GET',
    path: '/api/approvals',
    summary: 'List the calls that wait for your approval',
    description:
      'Oldest first, with every argument, the rule that demands the approval, and what the policy charges. Admins of a namespace see the calls of its services.',
    credential: 'admin',
    query: approvalQuery,
    answer: approvalPage,
    headers: ['Link'],
    needs: { table: { approval: ['query'], execution: ['get'], call: ['get'] } },
    example: { answer: { approvals: [] } },
  },
  'decide-approval': {
    method: 'POST',
    path: '/api/approvals/{id}',
    summary: 'Approve or deny a call that waits',
    description:
      'Send the `digest` of the approval in `If-Match`: exactly the call that you were shown is made, once. 409 if somebody else has decided, if it has expired, or if the policy, the intent or the agent has changed since it was asked for.',
    credential: 'admin',
    body: decisionInput,
    requestHeaders: ['If-Match'],
    answer: decided,
    needs: {
      table: {
        ...changes,
        approval: ['delete'],
        execution: ['get'],
        call: ['get', 'getAll', 'update'],
        intent: ['getAll'],
        service: ['getAll'],
        agent: ['getAll'],
        agentKey: ['getAll'],
      },
      policy: true,
      invokes: ['run-deferred-call'],
    },
    example: {
      path: { id: executionId },
      body: { decision: 'approve' },
      answer: { id: executionId, decision: 'approve', decided_by: 'admin', decided_at: '2027-03-01T11:30:00.000Z' },
    },
  },
} as const satisfies EndpointGroup;
