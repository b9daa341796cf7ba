import * as z from 'zod';
import { intentUid } from './intent-uid.ts';

/** The body of endpoint 3 (specification section 2.7). */
export const executionRequest = z
  .strictObject({
    intent_uid: intentUid,
    parameters: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ExecutionRequest', description: 'An intent and values for its input parameters.' });

export type ExecutionRequest = z.infer<typeof executionRequest>;
