import type { IntentGateError } from './errors.ts';

/** A message of the Model Context Protocol, as far as the bridge looks at it. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: {
    name?: string;
    arguments?: { pat?: string };
    /** of the handshake */
    capabilities?: Capabilities;
    /** what a person has answered (2026-07-28, "Multi Round-Trip Requests") */
    inputResponses?: Record<string, { action?: string } | undefined>;
    requestState?: string;
    _meta?: Record<string, unknown>;
  };
  /** of an answer to a question of the bridge */
  result?: { action?: string };
  error?: object;
}

export interface Capabilities {
  elicitation?: { form?: object; url?: object };
}

const prefix = 'io.modelcontextprotocol/';

/** The revision that a message says it is written in; those that begin with a handshake do not say so in each message. */
export function revisionOf({ params }: Message): string | undefined {
  const revision = params?._meta?.[`${prefix}protocolVersion`];
  return typeof revision === 'string' ? revision : undefined;
}

/** What the host can do, as far as this message says. */
export const capabilitiesIn = (message: Message): Capabilities | undefined =>
  message.method === 'initialize'
    ? message.params?.capabilities
    : (message.params?._meta?.[`${prefix}clientCapabilities`] as Capabilities | undefined);

/** Whether a host can put a question to its person; saying no more than `elicitation: {}` means forms, too. */
export function canAsk({ elicitation }: Capabilities = {}): boolean {
  return typeof elicitation === 'object' && elicitation !== null && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** @returns undefined if the line does not hold one message */
export function readMessage(line: string): Message | undefined {
  try {
    const message = JSON.parse(line);
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** A result of a tool: data for programs, and a text for models. */
export const toolResult = (text: string, data: object, isError = false): object => ({
  content: [{ type: 'text', text }],
  structuredContent: data,
  isError,
});

export interface ToolRefusal extends Pick<IntentGateError, 'code' | 'message'> {
  details?: Record<string, unknown>;
  /** what a model reads in place of the details */
  lines?: string[];
  /** what can be done about it */
  next: string;
}

/** A refusal as a result of a tool, so that a model can read it and act on it; in the form that the gate gives its own. */
export function refusalResult({ code, message, details = {}, lines = [`Details: ${JSON.stringify(details)}`], next }: ToolRefusal): object {
  const text = [`${code}: ${message}`, ...lines, `Next: ${next}`].join('\n');
  return toolResult(text, { error: { code, message, details }, next }, true);
}
