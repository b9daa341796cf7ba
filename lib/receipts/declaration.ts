import * as z from 'zod';
import '../../functions/receipts/records.ts';
import type { Declaration } from '../declaration.ts';
import { noExample, wholeProcessorMb } from '../endpoints/endpoint.ts';
import { findAdoptionProblems, receiptAdoption, receiptSettings } from './settings.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** issues receipts, appends them to the log, or reads the log; ignored if the setting `receipts` is `off` */
    receipts?: 'give' | 'log' | 'read';
  }
}

const giving = { needs: { table: { newReceipt: ['put'] }, receipts: 'give' } } as const;

const headers = ['Execution-Receipt', 'Execution-Receipt-Salts'] as const;

export const receipts = {
  endpoints: {
    Execution: {
      'get-proof': {
        method: 'GET',
        path: '/api/executions/{id}/proof',
        summary: 'Prove that the receipt of an execution is in the log',
        description:
          'Returns a proof in C2SP `tlog-proof` format against the newest checkpoint, for anybody who has the receipt; the id is the `execution_id` of the receipt. Until the receipt is in the log, at most five minutes, the response is 404 with the reason `waiting`. Proofs are kept for 400 days.',
        credential: 'none',
        answer: z.string(),
        mediaType: 'text/plain',
        needs: { table: { newReceipt: ['get'], loggedReceipt: ['get'], receiptLog: ['get'] }, receipts: 'read' },
        example: noExample,
      },
    },
    'This gate': {
      'get-log': {
        method: 'GET',
        path: '/log/checkpoint',
        furtherPaths: [{ path: '/log/key' }, { path: '/log/jwks.json' }, { path: '/log/tile/{tile+}' }],
        summary: 'Read the log of receipts',
        description:
          'Only if the gate issues receipts. The newest checkpoint of a log in C2SP `tlog-tiles` format, as a signed note. `/log/key` has its verifier key, `/log/jwks.json` the key that certifies receipts, and `/log/tile/` its tiles. An entry contains the id of an execution and the SHA-256 digest of its receipt.',
        credential: 'none',
        answer: z.string(),
        mediaType: 'text/plain',
        errors: ['NOT_FOUND'],
        needs: { table: { receiptLog: ['get'] }, receipts: 'read' },
        example: noExample,
      },
    },
  },
  background: [
    {
      name: 'sequence-receipts',
      summary: 'Add receipts of executions to their log',
      everyMinutes: 1,
      isQuiet: true,
      isUsed: ({ receipts }) => receipts !== 'off',
      needs: {
        table: { newReceipt: ['query', 'writeAll'], loggedReceipt: ['getAll', 'writeAll'], receiptLog: ['get', 'put', 'update', 'delete'] },
        receipts: 'log',
      },
      logMetrics: { Oldest: { metric: 'ReceiptAge', pattern: '$.message = "sequenced receipts"', value: '$.oldest_seconds' } },
      alarms: {
        ReceiptErrors: { metric: 'failedRuns', above: 2, description: 'Receipts are not being added to the log.' },
        ReceiptAge: {
          metric: { lowest: 'ReceiptAge' },
          above: 300,
          orSilent: true,
          description: 'Receipts reach the log later than promised, or not at all.',
        },
      },
      timeoutSeconds: 300,
      memoryMb: wholeProcessorMb,
    },
  ],
  additions: {
    'execute-intent': { ...giving, headers },
    'get-execution': { headers },
    'run-deferred-call': giving,
  },
  responseHeaders: {
    'Execution-Receipt': {
      description:
        'a receipt for the execution, from gates that issue receipts: a compact JWS, added to the log at `/log` within five minutes',
      schema: { type: 'string' },
    },
    'Execution-Receipt-Salts': {
      description: 'the salts of `parameters_digest` and `answer_digest` in the receipt, in base64url, separated by a dot',
      schema: { type: 'string' },
    },
  },
  rateCeilings: ({ receipts }) => (receipts === 'off' ? [] : ['the receipts, which take 3 more write units each']),
  settings: receiptSettings,
  adopted: {
    settings: receiptAdoption,
    findProblems: findAdoptionProblems,
    keys: [
      {
        setting: 'receiptKey',
        label: 'the receipt key',
        alias: 'receipts',
        output: 'ReceiptKeyPolicy',
        loss: 'executions that need a receipt are answered with 503',
      },
      { setting: 'logKey', label: 'the log key', alias: 'log', output: 'LogKeyPolicy', loss: 'no receipt gets into the log' },
    ],
    buckets: ['receiptBucket'],
    isUsed: ({ receipts }) => receipts !== 'off',
  },
  records: {
    newReceipt: 'receipts not yet in the log',
    loggedReceipt: 'positions of receipts in the log',
    receiptLog: 'head of the log of receipts',
  },
} as const satisfies Declaration;
