import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import { recordedExecution } from '../../schemas/executions.ts';
import type { Executed } from '../core/activity/history.ts';
import { log } from '../core/runtime/log.ts';

/** A delivery from CloudWatch Logs. */
const delivery = z.object({ awslogs: z.object({ data: z.base64() }) });

const batch = z.object({
  messageType: z.string(),
  logEvents: z.array(z.object({ timestamp: z.number(), message: z.string() })),
});

export const isDelivery = (event: unknown): boolean => typeof event === 'object' && event !== null && 'awslogs' in event;

/** Maximum age of executions that are counted, in milliseconds. Lambda retries deliveries for six hours, CloudWatch Logs for a day. */
export const countedMs = 2 * 24 * 3_600_000;

/** Maximum clock skew between two functions, in milliseconds. */
const skewMs = 5 * 60_000;

/**
 * The executions in a delivery from CloudWatch Logs. Lines that cannot be counted are left out, and their numbers are logged.
 * @throws if the event is not such a delivery
 */
export function readExecuted(event: unknown, nowMs: number): Executed[] {
  const { awslogs } = delivery.parse(event);
  const { messageType, logEvents } = batch.parse(JSON.parse(gunzipSync(Buffer.from(awslogs.data, 'base64')).toString()));
  // CloudWatch Logs sends a CONTROL_MESSAGE to test whether it reaches the function
  if (messageType !== 'DATA_MESSAGE') return [];
  const left = { malformed: 0, too_old: 0, in_future: 0 };
  const executed = logEvents.flatMap(({ timestamp: at, message }) => {
    const line = readLine(message);
    const why = line === undefined ? 'malformed' : at < nowMs - countedMs ? 'too_old' : at > nowMs + skewMs ? 'in_future' : undefined;
    if (why) left[why]++;
    return line && !why ? [{ ...line, at }] : [];
  });
  if (executed.length < logEvents.length) log.warn('executions not counted', left);
  return executed;
}

function readLine(message: string) {
  try {
    return recordedExecution.parse(JSON.parse(message));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}
