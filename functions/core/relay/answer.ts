import type { ErrorCode } from '../../../schemas/errors.ts';
import type { Intent } from '../../../schemas/intent.ts';
import { ApiError } from '../api-error.ts';
import { isObject, type JsonValue, parseJson } from '../json.ts';
import { checkOutput } from '../parameters/compile.ts';
import type { UpstreamAnswer } from './call.ts';

type Body = { [member: string]: JsonValue };

/** Largest answer that a refusal passes on, in bytes. */
const maxShownBytes = 4096;

/** Maximum number of seconds that callers of a busy upstream are told to wait; also used if the upstream says nothing useful. */
const maxRetryAfterSeconds = 3600;
const usualRetryAfterSeconds = 5;

/**
 * Turns an upstream's answer into the body of ours (specification section 4.2, endpoint 3). If the upstream refused the parameters, or did not
 * answer with what was promised, the agent gets its body too if that is JSON of at most 4 KB: always below `error.details`, so that no upstream can
 * speak in the gate's name.
 * @throws ApiError INTENT_EXECUTION_FAILED, INTENT_NOT_SUPPORTED, INTENT_DEPRECATED or SERVICE_UNAVAILABLE
 */
export function mapAnswer(answer: UpstreamAnswer, { output_parameters }: Pick<Intent, 'output_parameters'>): Body {
  if (answer.status < 200 || answer.status > 299) throw describeRefusal(answer);
  const body = readBody(answer, output_parameters);
  const issues = checkOutput(output_parameters, body);
  if (issues.length === 0) return body;
  throw failed(answer, "The answer of the intent's endpoint does not match the output_parameters. Tell the service's operators.", {
    issues,
    ...shownBody(answer),
  });
}

function readBody(answer: UpstreamAnswer, outputs: Intent['output_parameters']): Body {
  if (answer.body.length === 0) return {};
  const value = readJson(answer.body);
  if (value === undefined) {
    throw failed(answer, "The intent's endpoint did not answer in JSON that can be passed on. Tell the service's operators.");
  }
  if (isObject(value)) return value;
  const [only, ...others] = outputs;
  if (only === undefined || others.length > 0) {
    throw failed(answer, "The intent's endpoint did not answer with a JSON object. Tell the service's operators.");
  }
  return { [only.name]: value };
}

/** As strict as the reading of requests: what two readers could interpret differently is not passed on. */
function readJson(bytes: Buffer): JsonValue | undefined {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function describeRefusal(answer: UpstreamAnswer): ApiError {
  const { status } = answer;
  if (status === 429) {
    return refused(answer, 'SERVICE_UNAVAILABLE', "The intent's endpoint accepts no more calls for now. Try again after Retry-After.", {
      headers: { 'Retry-After': String(retryAfterSeconds(answer.retryAfter)) },
    });
  }
  if (status === 405 || status === 501) {
    return refused(answer, 'INTENT_NOT_SUPPORTED', "The intent's endpoint does not support the operation. Tell the service's operators.");
  }
  if (status === 410) return refused(answer, 'INTENT_DEPRECATED', "The intent's endpoint says that it is gone. Search for another intent.");
  if (status >= 400 && status < 500 && status !== 401 && status !== 403) {
    return refused(
      answer,
      'INTENT_EXECUTION_FAILED',
      "The intent's endpoint refused the parameters. details.upstream_body says why, if the endpoint gave a reason.",
      {
        status: 422,
        details: shownBody(answer),
      },
    );
  }
  if (status === 401 || status === 403) {
    return failed(answer, "The intent's endpoint does not let this gate in. Tell the service's operators.");
  }
  if (status >= 300 && status < 400)
    return failed(answer, "The intent's endpoint redirects, which is not followed. Tell the service's operators.");
  return failed(answer, "The intent's endpoint failed. Try again later, or tell the service's operators.");
}

const refused = (
  { status: upstreamStatus }: UpstreamAnswer,
  code: ErrorCode,
  message: string,
  { status, details = {}, headers = {} }: { status?: number; details?: Record<string, unknown>; headers?: Record<string, string> } = {},
) =>
  new ApiError(code, message, {
    ...(status !== undefined && { status }),
    headers,
    details: { upstream_status: upstreamStatus, ...details },
  });

const failed = (answer: UpstreamAnswer, message: string, details: Record<string, unknown> = {}) =>
  refused(answer, 'INTENT_EXECUTION_FAILED', message, { details });

function shownBody({ body }: UpstreamAnswer): Record<string, unknown> {
  const value = body.length > 0 && body.length <= maxShownBytes ? readJson(body) : undefined;
  return value === undefined ? {} : { upstream_body: value };
}

/** Whole seconds only (RFC 9110 section 10.2.3 also allows dates, which depend on the upstream's clock). */
const retryAfterSeconds = (field = ''): number =>
  /^[0-9]{1,15}$/.test(field) ? Math.min(Math.max(Number(field), 1), maxRetryAfterSeconds) : usualRetryAfterSeconds;
