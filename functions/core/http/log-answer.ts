import { ApiError } from '../api-error.ts';
import { describeCause, log } from '../log.ts';

/** The loggable cause of an error. A refusal without a cause is described by its code. */
export const causeOf = (error: unknown): Record<string, unknown> => {
  const cause = error instanceof ApiError ? error.cause : error;
  return cause === undefined || cause === null ? {} : { cause: describeCause(cause) };
};

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
  const line = { ...entry, code: isRefusal ? error.code : 'INTERNAL_SERVER_ERROR' };
  if (isRefusal && error.status < 500) log.info(message, line);
  else if (isRefusal && error.fault === 'upstream') log.info(message, { ...line, fault: error.fault, ...causeOf(error) });
  else log.error(message, { ...line, ...causeOf(error) });
}
