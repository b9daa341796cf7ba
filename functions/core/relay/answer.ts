import type { ErrorCode, Issue } from '../../../schemas/errors.ts';
import type { Intent } from '../../../schemas/intent.ts';
import { ApiError, type ApiErrorOptions } from '../api-error.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { checkOutput } from '../parameters/compile.ts';
import type { UpstreamAnswer } from './call.ts';
import { type Content, readContent, redact, toBody } from './content.ts';
import type { UnusableBody } from './content-coding.ts';
import { narrowShownBody, selectAllowed } from './select-fields.ts';

type Outputs = Pick<Intent, 'output_parameters' | 'fields' | 'strict'>;

const maxShownBytes = 4096;

/** Longest `Retry-After` that is passed on, and the default. */
const maxRetryAfterSeconds = 3600;
const usualRetryAfterSeconds = 5;

/**
 * Maps an upstream's answer to the gate's body (specification section 4.2). A 2xx answer means that the call was executed, so its content is
 * passed on. If the upstream refused the parameters, its reason is passed on if it is JSON or plain text of at most 4 KB, always inside `details`, so that
 * no upstream can speak in the gate's name.
 * @throws ApiError INTENT_EXECUTION_FAILED, INTENT_NOT_SUPPORTED, INTENT_DEPRECATED, SERVICE_UNAVAILABLE or, if a 2xx answer did not end in time,
 * GATEWAY_TIMEOUT
 */
export function mapAnswer(answer: UpstreamAnswer, intent: Outputs): { body: JsonObject; issues: Issue[] } {
  if (answer.status < 200 || answer.status > 299) throw describeRefusal(answer, intent);
  if (answer.unusable !== undefined) throw describeUnusable(answer, answer.unusable);
  const content = read(answer, intent);
  const body = toBody(content, intent.output_parameters);
  const issues = [...checkOutput(intent.output_parameters, body), ...(content.kind === 'text' && content.isBrokenJson ? [brokenJson] : [])];
  return { body: selectAllowed(body, intent) as JsonObject, issues };
}

const brokenJson: Issue = { path: '/value', problem: 'is text, because it is not unambiguous JSON with at most 200 levels' };

/** The refusal of an answer that does not match the outputs of a strict intent. */
export const refuseMismatch = (answer: UpstreamAnswer, issues: Issue[], intent: Outputs): ApiError =>
  executed(answer, "does not match the intent's output_parameters", { issues, ...shownBody(answer, intent) });

const read = ({ body, contentType, redactor }: UpstreamAnswer, { output_parameters }: Outputs): Content =>
  redact(readContent(body, contentType === undefined ? undefined : redactor.hide(contentType), output_parameters), redactor);

const unusableBodies: Record<UnusableBody, string> = {
  answer_too_large: 'has more than 1048576 bytes. If the intent has a parameter for it, request less next time',
  broken_answer: 'was incomplete or unreadable',
  encoded_answer: 'has an unsupported content coding',
  deadline: 'did not end in time',
};

const describeUnusable = (answer: UpstreamAnswer, reason: UnusableBody): ApiError =>
  executed(answer, unusableBodies[reason], { reason }, reason === 'deadline' ? 'GATEWAY_TIMEOUT' : 'INTENT_EXECUTION_FAILED');

const executed = (answer: UpstreamAnswer, problem: string, details: Record<string, unknown>, code: ErrorCode = 'INTENT_EXECUTION_FAILED') =>
  refused(answer, code, `The call was executed, but the answer of the intent's endpoint ${problem}. Do not send the call again.`, {
    details: { outcome: 'executed', ...details },
  });

function describeRefusal(answer: UpstreamAnswer, intent: Outputs): ApiError {
  const { status } = answer;
  switch (status) {
    case 429: {
      const message = "The intent's endpoint is not accepting calls at the moment. Try again after Retry-After.";
      return refused(answer, 'SERVICE_UNAVAILABLE', message, { headers: { 'Retry-After': String(retryAfterSeconds(answer.retryAfter)) } });
    }
    case 405:
    case 501:
      return refused(answer, 'INTENT_NOT_SUPPORTED', "The intent's endpoint does not support the operation. Tell the service's operators.");
    case 410:
      return refused(answer, 'INTENT_DEPRECATED', "The intent's endpoint no longer exists. Search for another intent.");
    case 401:
    case 403:
      return failed(answer, "The intent's endpoint denied access to this gate. Tell the service's operators.");
  }
  if (status >= 400 && status < 500) {
    const message = "The intent's endpoint refused the parameters. details.upstream_body says why, if the endpoint gave a reason.";
    return failed(answer, message, { status: 422, details: shownBody(answer, intent) });
  }
  if (status >= 300 && status < 400) {
    const message =
      "The intent's endpoint sent a redirect, which the gate does not follow. It may have acted on the call; check this before you send it again, and tell the service's operators.";
    return failed(answer, message, { details: { outcome: 'unknown', ...shownLocation(answer) } });
  }
  const message =
    "The intent's endpoint failed. It may have acted on the call; check this before you send it again, or tell the service's operators.";
  return failed(answer, message, { details: { outcome: 'unknown' } });
}

const refused = ({ status }: UpstreamAnswer, code: ErrorCode, message: string, options: ApiErrorOptions = {}) =>
  new ApiError(code, message, { ...options, details: { upstream_status: status, ...options.details } });

const failed = (answer: UpstreamAnswer, message: string, options: ApiErrorOptions = {}) =>
  refused(answer, 'INTENT_EXECUTION_FAILED', message, options);

/** The upstream's body for `details`, narrowed to the parts that may leave the gate. */
function shownBody(answer: UpstreamAnswer, intent: Outputs): { upstream_body?: JsonValue } {
  if (answer.body.length > maxShownBytes) return {};
  const content = read(answer, intent);
  if (content.kind !== 'json' && (content.kind !== 'text' || content.mediaType !== 'text/plain')) return {};
  return narrowShownBody({ upstream_body: content.kind === 'json' ? content.value : content.text }, intent);
}

const maxLocationLength = 2048;

/** The target of a redirect, without its possible secrets: user information, query and fragment. */
function shownLocation({ location, url, redactor }: UpstreamAnswer): { location?: string } {
  // redacted before and after parsing, because parsing may change the spelling
  const target = location === undefined ? null : URL.parse(redactor.hide(location), url);
  if (!target || !/^https?:$/.test(target.protocol)) return {};
  const shown = redactor.hide(`${target.origin}${target.pathname}`);
  return shown.length > maxLocationLength ? {} : { location: shown };
}

/** Parses `Retry-After`. @param field - a number of seconds, or a date (RFC 9110 section 10.2.3) */
function retryAfterSeconds(field = ''): number {
  const date = field.replace(/:\d\d \d{4}$/, '$& GMT'); // the form of asctime names no zone
  const untilDate = date.endsWith(' GMT') ? Math.ceil((Date.parse(date) - Date.now()) / 1000) : Number.NaN;
  const seconds = /^[0-9]+$/.test(field) ? Number(field) : untilDate;
  return Number.isNaN(seconds) ? usualRetryAfterSeconds : Math.min(Math.max(seconds, 1), maxRetryAfterSeconds);
}
