import { PolicyDeclined, Refusal } from './errors.ts';
import type { Http } from './http.ts';
import type { Pats } from './pats.ts';

export interface McpBridgeOptions {
  http: Http;
  pats: Pats;
  /** what the person has to do to accept the policy */
  howToAccept: string;
}

interface Message {
  id?: string | number;
  method?: string;
  params?: { name?: string; arguments?: { pat?: string }; _meta?: Record<string, unknown> };
}

/** The relevant parts of an exchange. */
interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a message is forwarded whatever its content
  body: any;
}

const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';

/**
 * Forwards messages of the Model Context Protocol to the gate, and adds the PAT that executions need.
 * @returns a function that answers one line; nothing if the message needs no answer
 */
export function openMcpBridge({ http, pats, howToAccept }: McpBridgeOptions): (line: string) => Promise<object | undefined> {
  async function post(line: string, { method = '', params }: Message, bearer?: string): Promise<Answer> {
    const version = params?._meta?.[protocolVersionKey];
    const headers = {
      Accept: 'application/json, text/event-stream',
      ...(typeof version === 'string' && {
        'MCP-Protocol-Version': version,
        'Mcp-Method': method,
        ...(params?.name && { 'Mcp-Name': params.name }),
      }),
    };
    return http.exchange('POST', '/mcp', { headers, bearer, raw: { text: line, mediaType: 'application/json' } });
  }

  async function execute(line: string, message: Message): Promise<Answer> {
    const pat = await pats.obtain();
    const answer = await post(line, message, pat.text);
    const refusal = readRefusal(answer);
    return refusal ? post(line, message, (await pats.replace(pat, refusal)).text) : answer;
  }

  return async (line) => {
    const message = readMessage(line);
    const { id, method, params } = message ?? {};
    const fail = (text: string) => (id === undefined ? undefined : { jsonrpc: '2.0', id, error: { code: -32603, message: text } });
    if (!message) return { jsonrpc: '2.0', error: { code: -32700, message: 'A line must hold one JSON-RPC message.' } };
    const needsPat = method === 'tools/call' && params?.name === 'execute_intent' && params.arguments?.pat === undefined;
    try {
      const { status, body } = needsPat ? await execute(line, message) : await post(line, message);
      if (id === undefined) return undefined;
      return body?.jsonrpc === '2.0' ? body : fail(body?.error?.message ?? `The gate answered with status ${status}.`);
    } catch (error) {
      if (error instanceof PolicyDeclined && id !== undefined)
        return { jsonrpc: '2.0', id, result: declined(error, howToAccept, params?._meta !== undefined) };
      return fail((error as Error).message);
    }
  };
}

/** Why the PAT that was sent with a call is no longer accepted, if that is what was answered. */
function readRefusal({ status, body }: Answer): Refusal | undefined {
  const error = body?.error?.code === undefined ? body?.result?.structuredContent?.error : body.error;
  if (status !== 401 && error?.details?.reason !== 'policy_changed') return undefined;
  const { code = 'UNAUTHORIZED', message = '', details = {} } = error ?? {};
  return new Refusal({ status, code, message, details, requestId: undefined, retryAfterMs: undefined });
}

function readMessage(line: string): Message | undefined {
  try {
    const message = JSON.parse(line);
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** A result of the tool, so that the model can tell the person. */
const declined = ({ inWords }: PolicyDeclined, howToAccept: string, isModern: boolean): object => ({
  ...(isModern && { resultType: 'complete' }),
  isError: true,
  content: [
    {
      type: 'text',
      text: [
        'POLICY_DECLINED: The person whom you work for has not accepted the usage policy as it is now.',
        ...inWords.map((sentence) => `- ${sentence}`),
        `Next: show them this policy; they ${howToAccept}`,
      ].join('\n'),
    },
  ],
});
