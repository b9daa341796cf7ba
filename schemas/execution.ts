import * as z from 'zod';
import { intentUid } from './intent-uid.ts';
import { jsonPointers } from './json-pointer.ts';

/** The body of `POST /api/intents/execute` (specification section 2.7). */
export const executionRequest = z
  .strictObject({
    intent_uid: intentUid,
    parameters: z.record(z.string(), z.unknown()),
    fields: jsonPointers.optional().describe('JSON pointers to the requested members of the answer; default: all that the intent allows'),
    max_bytes: z
      .int('must be a whole number')
      .min(100, 'must be at least 100, or be left out for the whole answer')
      .max(2_000_000, 'must be at most 2000000, or be left out for the whole answer')
      .optional()
      .describe(
        'maximum size of the answer in bytes of JSON; a longer one is truncated at an item or member, and `cut` and the header Answer-Cut say where, and how many there are in total',
      ),
  })
  .meta({ id: 'ExecutionRequest', description: 'An intent and values for its input parameters.' });

/** A request to execute an intent. */
export type ExecutionInput = z.infer<typeof executionRequest>;
