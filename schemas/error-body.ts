import * as z from 'zod';
import { type ErrorCode, errorTable } from './errors.ts';

/** The body of every response that is not 2xx (specification section 7.1). */
export const errorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]),
      message: z.string().min(1),
      details: z
        .looseObject({
          reference: z.string().regex(/^[A-Z]+-[A-Z]{3}-[0-9]{3}$/),
          request_id: z.string(),
          issues: z.array(z.strictObject({ path: z.string(), problem: z.string() })).optional(),
        })
        .optional(),
      help_url: z.url().optional(),
    }),
  })
  .meta({ id: 'Error', description: 'The body of every response outside 2xx.' });

export type ErrorBody = z.infer<typeof errorBody>;
