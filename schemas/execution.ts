import * as z from 'zod';
import { intentUid } from './intent-uid.ts';

/** The body of endpoint 3 (specification section 2.7). */
export const executionRequest = z
  .strictObject({
    intent_uid: intentUid,
    parameters: z.record(z.string(), z.unknown()),
    fields: z
      .array(
        z
          .string()
          .max(1_000, 'must have at most 1000 characters')
          .regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'must be a JSON pointer, for example /name'),
      )
      .min(1, 'must hold at least one JSON pointer')
      .max(50, 'must hold at most 50 JSON pointers')
      .optional()
      .describe('JSON pointers to the members of the answer that are wanted; all of it without them'),
  })
  .meta({ id: 'ExecutionRequest', description: 'An intent and values for its input parameters.' });

export type ExecutionRequest = z.infer<typeof executionRequest>;
