import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError } from '../runtime/api-error.ts';
import { variables } from '../runtime/environment.ts';
import { describeCause, log } from '../runtime/log.ts';

/** The loggable cause of an error. A refusal without a cause is described by its code. */
export const causeOf = (error: unknown): Record<string, unknown> => {
  const cause = error instanceof ApiError ? error.cause : error;
  return cause === undefined || cause === null ? {} : { cause: describeCause(cause) };
};

/**
 * The members of a log line that make CloudWatch add it to the metric *Refusals* of its code (CloudWatch embedded metric format). Each code is billed as
 * a metric; callers cannot add codes. Metric filters would take one for the log of each function; a log that all functions share would let each of them
 * write `executed` lines, from which usage is counted.
 */
function countRefusal(code: ErrorCode): Record<string, unknown> {
  const namespace = process.env[variables.metricNamespace];
  if (!namespace) return { code };
  const directive = { Namespace: namespace, Dimensions: [['code']], Metrics: [{ Name: 'Refusals' }] };
  return { code, Refusals: 1, _aws: { Timestamp: Date.now(), CloudWatchMetrics: [directive] } };
}

/**
 * Logs how a request was answered. A failure of the gate is logged as an error, which alarms count; a failure of an upstream as info, with `fault`.
 * @param error - what was thrown, if anything; anything but an ApiError is answered as INTERNAL_SERVER_ERROR
 */
export function logAnswer(message: 'answered' | 'tool', entry: Record<string, unknown>, error: unknown): void {
  if (error === undefined || error === null) {
    log.info(message, entry);
    return;
  }
  const isRefusal = error instanceof ApiError;
  if (isRefusal && error.status < 500) log.info(message, { ...entry, ...countRefusal(error.code) });
  else if (isRefusal && error.fault === 'upstream')
    log.info(message, { ...entry, code: error.code, fault: error.fault, ...causeOf(error) });
  else log.error(message, { ...entry, ...countRefusal(isRefusal ? error.code : 'INTERNAL_SERVER_ERROR'), ...causeOf(error) });
}
