import { toDouble } from '../../schemas/number.ts';
import { isObject, type JsonObject, type JsonValue, parseJson } from '../core/json/json.ts';
import type { UpstreamAnswer } from '../core/relay/call.ts';
import { CallFailed } from '../core/relay/call-failure.ts';
import { ApiError } from '../core/runtime/api-error.ts';

/** Errors that are about the request: the tool was not called (JSON-RPC 2.0, section 5.1; MCP 2026-07-28, "Error Codes"). */
const refusedCodes = [-32700, -32600, -32602, -32002, -32020, -32022];

const methodNotFound = -32601;

/** The server needs a capability of clients, or that a person opens a page. */
const inputCodes = [-32021, -32042];

/** The refusal of a call whose tool asks for input (elicitation, sampling, roots). */
export const inputRequired = () =>
  new ApiError(
    'INTENT_NOT_SUPPORTED',
    'The tool asked for input while it ran, which the gate cannot give. It may have acted on the call; check this before you send it again.',
    { details: { reason: 'input_required', outcome: 'unknown' }, fault: 'upstream' },
  );

/**
 * The answer of a server as one of a service that speaks HTTP only, so that it is handled like one: a result has status 200, a tool that reports an
 * error 422, and an error of the protocol 400, 501 or 500.
 * @throws ApiError INTENT_NOT_SUPPORTED if the tool asks for input
 * @throws CallFailed `broken_answer` if the response is not one of MCP
 */
export function toHttpAnswer(answer: UpstreamAnswer, { result, error }: JsonObject): UpstreamAnswer {
  const as = (status: number, value: JsonValue | string, type = 'application/json'): UpstreamAnswer => ({
    ...answer,
    status,
    headers: { ...answer.headers, 'content-type': type },
    body: Buffer.from(type === 'text/plain' ? String(value) : JSON.stringify(value)),
  });
  if (isObject(error)) {
    const code = toDouble(error.code as number) ?? 0;
    if (inputCodes.includes(code)) throw inputRequired();
    return as(refusedCodes.includes(code) ? 400 : code === methodNotFound ? 501 : 500, error);
  }
  if (!isObject(result)) throw new CallFailed('broken_answer');
  const { resultType = 'complete', structuredContent, content, isError } = result;
  if (resultType === 'input_required') throw inputRequired();
  if (resultType !== 'complete') throw new CallFailed('broken_answer');
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  if (isError === true) {
    const said = parts.flatMap(({ text }) => (typeof text === 'string' ? text : [])).join('\n');
    return said === '' ? as(422, structuredContent ?? parts) : as(422, said, 'text/plain');
  }
  if (structuredContent !== undefined && (structuredContent !== null || parts.length === 0)) return as(200, structuredContent);
  const [first = {}, ...others] = parts.map(readPart);
  return as(200, others.length === 0 ? first : { items: [first, ...others] });
}

/** A part of the content: text as `value`, or as the object that it is in JSON, bytes as `base64`, and a part of another type as it is. */
function readPart(given: JsonObject): JsonObject {
  const { type, resource, ...part } = given;
  const { text, data, blob = data, mimeType, uri, name, description } = isObject(resource) ? resource : part;
  const origin = { ...(uri !== undefined && { uri }), ...(mimeType !== undefined && { content_type: mimeType }) };
  if (blob !== undefined) return { base64: blob, ...origin };
  if (text !== undefined) return (type === 'text' && readObject(text)) || { value: text, ...origin };
  if (uri === undefined) return given;
  return { ...origin, ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
}

function readObject(text: JsonValue): JsonObject | undefined {
  try {
    const value = parseJson(String(text), { isExact: true, maxDepth: 199 });
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
