import * as z from 'zod';
import { errorBody } from './error-body.ts';

/** Maximum duration of a deferred call, in seconds. */
export const longestCallSeconds = 600;

/** Maximum duration of the run that makes a deferred call, in seconds. */
export const longestRunSeconds = longestCallSeconds + 60;

const execution = z.url().describe('address of its state, readable with a PAT of the same agent');
const expires = z.iso.datetime().describe('deadline for the decision');

/** An accepted call that has no outcome yet: the body of a 202. */
export const pendingExecution = z
  .discriminatedUnion('status', [
    z.strictObject({ status: z.literal('waiting').describe('a person has to approve the call'), execution, expires_at: expires }),
    z.strictObject({ status: z.literal('working').describe('the call is about to be made, or being made'), execution }),
  ])
  .meta({ id: 'PendingExecution', description: 'A call that waits for approval or is being made.' });

export type PendingExecution = z.infer<typeof pendingExecution>;

/** The `Execution-Id` of a call. */
export const executionIdOf = ({ execution }: { execution: string }): string => execution.slice(execution.lastIndexOf('/') + 1);

const outcome = z.union([
  z.strictObject({ status: z.int(), body: z.record(z.string(), z.unknown()) }),
  z.strictObject({ status: z.int(), body: errorBody }),
]);

export const executionState = z
  .discriminatedUnion('status', [
    ...pendingExecution.options,
    z.strictObject({
      status: z.literal('done').describe('the call was made, or refused when it was due'),
      execution,
      outcome: outcome.describe('HTTP status and body of an immediate answer'),
    }),
    z.strictObject({ status: z.literal('denied').describe('an admin denied the call; nothing was sent'), execution, reason: z.string() }),
    z.strictObject({
      status: z
        .literal('expired')
        .describe(
          'nobody decided in time, the call waited too long in the queue or was displaced there, or it has become void; nothing was sent',
        ),
      execution,
      reason: z.string(),
    }),
    z.strictObject({
      status: z.literal('unknown').describe('the gate was interrupted during the call, which will not be made again'),
      execution,
      reason: z.string(),
    }),
  ])
  .meta({ id: 'ExecutionState', description: 'The state of a deferred call.' });

export type ExecutionState = z.infer<typeof executionState>;
