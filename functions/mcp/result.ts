import type { Issue } from '../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../schemas/text.ts';
import { addedOf, headOf } from '../core/execution/narrow.ts';
import type { ApiError } from '../core/runtime/api-error.ts';
import { nextCall } from './next-call.ts';
import type { ToolOutput } from './tool.ts';
import { inToolTerms } from './tool-terms.ts';

/** The output of a tool as an MCP result. */
export function describeOutput({ data, text = escapeHiddenInJson(JSON.stringify(data)), remarks = [], headers = {} }: ToolOutput): object {
  const content = [text, ...remarks].map((one) => ({ type: 'text', text: one }));
  const upstream = headOf(headers);
  // such as a receipt, which is for programs and not for models
  const added = Object.entries(addedOf(headers)).map(([name, value]) => [`intent-gate/${name.toLowerCase()}`, value]);
  const meta = {
    ...Object.fromEntries(added),
    ...(upstream['Upstream-Status'] && { 'intent-gate/upstream': upstream }),
  };
  return { content, structuredContent: data, isError: false, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

/** A refusal in the terms of the tools, with what to do next. */
export function explainRefusal(tool: string, error: ApiError, requestId: string) {
  const { code, details } = error;
  const { 'Retry-After': seconds = details.retry_after_seconds } = error.headers;
  const message = inToolTerms(error.message, seconds === undefined ? undefined : String(seconds));
  return { error: { code, message, details: { ...describeDetails(error), request_id: requestId } }, next: nextCall(tool, error) };
}

/** A refusal as a result, so that a model can read it and act on it. */
export function describeRefusal(explained: ReturnType<typeof explainRefusal>) {
  const { error, next } = explained;
  const text = [`${error.code}: ${error.message}`, `Details: ${escapeHiddenInJson(JSON.stringify(error.details))}`, `Next: ${next}`].join(
    '\n',
  );
  return { content: [{ type: 'text', text }], structuredContent: explained, isError: true };
}

/** The details of a refusal, worded for tools. */
function describeDetails({ details }: ApiError): Record<string, unknown> {
  const { issues, ...others } = details as { issues?: Issue[] };
  return { ...(issues && { issues: issues.map(({ path, problem }) => ({ path, problem: inToolTerms(problem) })) }), ...others };
}

export function remarksOn(headers: Record<string, string> = {}): string[] {
  const { 'Answer-Issues': issues, 'Answer-Missing': missing, 'Answer-Cut': cut } = headers;
  const { 'Upstream-Status': status = '200', ...fields } = headOf(headers);
  return [
    ...(status !== '200' || Object.keys(fields).length > 0
      ? [`Status and header fields of the service's answer: ${JSON.stringify({ 'Upstream-Status': status, ...fields })}`]
      : []),
    ...(issues ? [`The call was executed, but its answer does not match output_parameters at ${issues}.`] : []),
    ...(missing ? [`The answer has nothing at these of the requested fields: ${missing}.`] : []),
    ...(cut
      ? [`The answer was longer than max_bytes and was cut (${cut}). Ask for less with fields, or for more with a larger max_bytes.`]
      : []),
  ];
}
