import type { ErrorCode, Issue } from '../../../schemas/errors.ts';
import type { Intent } from '../../../schemas/intent.ts';
import type { JsonObject } from '../json/json.ts';
import { checkOutput } from '../parameters/compile.ts';
import { ApiError, type ApiErrorOptions } from '../runtime/api-error.ts';
import type { UpstreamAnswer } from './call.ts';
import { type Content, readContent, redact, toBody } from './content.ts';
import type { UnusableBody } from './content-coding.ts';
import { describeReason } from './reason.ts';
import { retryAfterSeconds } from './retry-after.ts';
import { saysWhy, selectAllowed } from './select-fields.ts';

type Called = Pick<Intent, 'output_parameters' | 'fields' | 'endpoint'>;

/**
 * Maps an upstream's answer to the gate's body (specification section 4.2). A 2xx answer means that the call was executed, so its content is
 * passed on; 304 means that the caller has it. The reason of a refusal is passed on inside `details`, so that no upstream can speak in the gate's name.
 * @throws ApiError INTENT_EXECUTION_FAILED, INTENT_NOT_SUPPORTED, INTENT_DEPRECATED, SERVICE_UNAVAILABLE or, if a 2xx answer did not end in time,
 * GATEWAY_TIMEOUT
 */
export function mapAnswer(answer: UpstreamAnswer, intent: Called): { body: JsonObject; issues: Issue[] } {
  if (answer.status === 304) return { body: {}, issues: [] };
  if (answer.status < 200 || answer.status > 299) throw describeRefusal(answer, intent);
  if (answer.unusable !== undefined) throw describeUnusable(answer, answer.unusable);
  const content = read(answer, intent);
  const body = toBody(content, intent.output_parameters);
  const issues = [
    ...checkOutput(intent.output_parameters, body),
    ...((content.kind === 'text' || content.kind === 'bytes') && content.isBrokenJson ? [brokenJson(content.kind)] : []),
  ];
  return { body: selectAllowed(body, intent) as JsonObject, issues };
}

const brokenJson = (kind: 'text' | 'bytes'): Issue => ({
  path: kind === 'text' ? '/value' : '/base64',
  problem: `is ${kind}, because it is not unambiguous JSON with at most 200 levels`,
});

/** The refusal of an answer that does not match the outputs of a strict intent. */
export const refuseMismatch = (answer: UpstreamAnswer, issues: Issue[], intent: Called): ApiError =>
  executed(answer, "does not match the intent's output_parameters", { issues, ...reasonOf(answer, intent) });

function read({ body, headers, redactor }: UpstreamAnswer, { output_parameters }: Called): Content {
  const { 'content-type': type } = headers;
  return redact(readContent(body, type === undefined ? undefined : redactor.hide(type), output_parameters), redactor);
}

const reasonOf = (answer: UpstreamAnswer, intent: Called) =>
  describeReason(read(answer, intent), answer.status >= 500, intent, answer.redactor.hide);

const unusableBodies: Record<UnusableBody, string> = {
  answer_too_large: 'has more than 1048576 bytes. If the intent has a parameter for it, request less next time',
  broken_answer: 'was incomplete or unreadable',
  deadline: 'did not end in time',
};

const describeUnusable = (answer: UpstreamAnswer, reason: UnusableBody): ApiError =>
  executed(answer, unusableBodies[reason], { reason }, reason === 'deadline' ? 'GATEWAY_TIMEOUT' : 'INTENT_EXECUTION_FAILED');

const executed = (
  { status }: UpstreamAnswer,
  problem: string,
  details: Record<string, unknown>,
  code: ErrorCode = 'INTENT_EXECUTION_FAILED',
): ApiError =>
  new ApiError(code, `The call was executed, but the answer of the intent's endpoint ${problem}. Do not send the call again.`, {
    details: { upstream_status: status, outcome: 'executed', ...details },
  });

function describeRefusal(answer: UpstreamAnswer, intent: Called): ApiError {
  const { status, headers } = answer;
  const { message, code = 'INTENT_EXECUTION_FAILED', details, ...options } = explainStatus(answer, intent.endpoint.url);
  const seconds = retryAfterSeconds(status, headers);
  const reason = status < 400 ? {} : reasonOf(answer, intent);
  return new ApiError(code, message + (reason.upstream_body === undefined ? '' : saysWhy), {
    ...options,
    details: { upstream_status: status, ...details, ...reason, ...(seconds !== undefined && { retry_after_seconds: seconds }) },
    ...(seconds !== undefined && { headers: { 'Retry-After': String(seconds) } }),
  });
}

/** Whether the path of a URL template has a placeholder, so that it names a record. */
const namesRecord = (url: string): boolean => /^[^?]*\{[^?&]/.test(url);

/** Refusals that are about payment, time, the connection or the law (RFC 9110 section 15.5, RFC 6585, RFC 7725, RFC 8470). */
const notAboutParameters = new Set([402, 407, 408, 421, 425, 426, 431, 451]);

type Explanation = { message: string; code?: ErrorCode } & Pick<ApiErrorOptions, 'status' | 'details'>;

const notSupported: Explanation = {
  code: 'INTENT_NOT_SUPPORTED',
  message: "The intent's endpoint does not support the operation. Tell the service's operators.",
};

const explanations: Record<number, Explanation> = {
  401: { message: "The intent's endpoint denied access to this gate. Tell the service's operators." },
  403: { message: "The intent's endpoint denied the call. Unless the parameters are the cause, tell the service's operators." },
  405: notSupported,
  410: { code: 'INTENT_DEPRECATED', message: "The intent's endpoint no longer exists. Search for another intent." },
  429: {
    code: 'SERVICE_UNAVAILABLE',
    message: "The intent's endpoint is not accepting calls at the moment. Try again after Retry-After.",
  },
  501: notSupported,
};

function explainStatus(answer: UpstreamAnswer, url: string): Explanation {
  const { status } = answer;
  if (status === 410 && namesRecord(url))
    return { status: 422, message: 'The service says that this is gone. Do not send the call again with the same parameters.' };
  const explanation = explanations[status];
  if (explanation) return explanation;
  if (status >= 400 && status < 500) {
    const message = notAboutParameters.has(status)
      ? `The intent's endpoint refused the call with status ${status}. The parameters need not be the cause.`
      : "The intent's endpoint refused the parameters.";
    return { status: 422, message };
  }
  const isRedirect = status >= 300 && status < 400;
  const happened = isRedirect ? 'sent a redirect, which the gate does not follow' : 'failed';
  return {
    message: `The intent's endpoint ${happened}. It may have acted on the call; check this before you send it again, ${isRedirect ? 'and' : 'or'} tell the service's operators.`,
    details: { outcome: 'unknown', ...(isRedirect && shownLocation(answer)) },
  };
}

const maxLocationLength = 2048;

/** The target of a redirect, without its possible secrets: user information, query and fragment. */
function shownLocation({ headers: { location }, url, redactor }: UpstreamAnswer): { location?: string } {
  // redacted before and after parsing, because parsing may change the spelling
  const target = location === undefined ? null : URL.parse(redactor.hide(location), url);
  if (!target || !/^https?:$/.test(target.protocol)) return {};
  const shown = redactor.hide(`${target.origin}${target.pathname}`);
  return shown.length > maxLocationLength ? {} : { location: shown };
}
