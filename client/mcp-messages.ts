import type { IntentGateError } from './errors.ts';
import { parseForwarded } from './json.ts';

export interface Message {
  id?: string | number;
  method?: string;
  params?: {
    name?: string;
    arguments?: { pat?: string; idempotency_key?: string };
    /** requests a task instead of a result (2025-11-25, "Tasks") */
    task?: object;
    /** in requests about a task */
    taskId?: string;
    capabilities?: Capabilities;
    /** answers of a person (2026-07-28, "Multi Round-Trip Requests") */
    inputResponses?: Record<string, FormAnswer | undefined>;
    requestState?: string;
    /** of the cancelled request */
    requestId?: string | number;
    _meta?: Record<string, unknown>;
  };
  /** in a response to the bridge */
  result?: FormAnswer;
  error?: object;
}

/** A person's answer to a form. */
export interface FormAnswer {
  action?: string;
  content?: { accept?: unknown } | null;
}

export interface Capabilities {
  elicitation?: { form?: object; url?: object };
}

const prefix = 'io.modelcontextprotocol/';

/** The revision in a message; undefined in revisions with a handshake, which do not repeat it. */
export function revisionOf({ params }: Message): string | undefined {
  const revision = params?._meta?.[`${prefix}protocolVersion`];
  return typeof revision === 'string' ? revision : undefined;
}

export const capabilitiesIn = (message: Message): Capabilities | undefined =>
  message.method === 'initialize'
    ? message.params?.capabilities
    : (message.params?._meta?.[`${prefix}clientCapabilities`] as Capabilities | undefined);

/** Whether the host can ask a person; `elicitation: {}` means forms as well. */
export function canAsk({ elicitation }: Capabilities = {}): boolean {
  return typeof elicitation === 'object' && elicitation !== null && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Reads a JSON object to forward; undefined if the text is something else. */
export function readObject<T extends object>(text: string): T | undefined {
  try {
    const value = parseForwarded(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: object;
  isError: boolean;
}

export const toolResult = (text: string, data: object, isError = false): ToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: data,
  isError,
});

interface ToolRefusal extends Pick<IntentGateError, 'code' | 'message'> {
  details?: Record<string, unknown>;
  /** shown to the model instead of the details */
  lines?: string[];
  next: string;
}

/** A refusal in the gate's format that a model can read. */
export function refusalResult({
  code,
  message,
  details = {},
  lines = [`Details: ${JSON.stringify(details)}`],
  next,
}: ToolRefusal): ToolResult {
  const text = [`${code}: ${message}`, ...lines, `Next: ${next}`].join('\n');
  return toolResult(text, { error: { code, message, details }, next }, true);
}

export const isRefusal = (result: object): result is ToolResult => 'isError' in result && result.isError === true;

/** A refused request for a task: it has no result that could say so, so that it gets a JSON-RPC error (invalid params). */
export const toTaskError = ({ content, structuredContent }: ToolResult): object => ({
  code: -32602,
  message: content.map(({ text }) => text).join('\n'),
  data: structuredContent,
});
