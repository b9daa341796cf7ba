import { IntentGateError, PolicyDeclined } from './errors.ts';
import type { Pats } from './pats.ts';

export interface McpBridgeOptions {
  /** address of the service, without a slash at its end */
  url: string;
  fetch: typeof fetch;
  pats: Pats;
  /** what the person has to do to accept the policy */
  howToAccept: string;
}

interface Message {
  id?: string | number;
  method?: string;
  params?: { name?: string; arguments?: { pat?: string }; _meta?: Record<string, unknown> };
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a message is passed on, whatever is in it
  body: any;
}

const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';

/**
 * Passes messages of the Model Context Protocol on to the service, and adds the PAT that executions need.
 * @returns answers one line; nothing for what asks for no answer
 */
export function openMcpBridge({ url, fetch, pats, howToAccept }: McpBridgeOptions): (line: string) => Promise<object | undefined> {
  async function post(line: string, { method = '', params }: Message, pat?: string): Promise<Answer> {
    const version = params?._meta?.[protocolVersionKey];
    const headers = {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(typeof version === 'string' && {
        'MCP-Protocol-Version': version,
        'Mcp-Method': method,
        ...(params?.name && { 'Mcp-Name': params.name }),
      }),
      ...(pat !== undefined && { Authorization: `Bearer ${pat}` }),
    };
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body: line, redirect: 'error' });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  async function execute(line: string, message: Message): Promise<Answer> {
    const pat = await pats.obtain();
    const answer = await post(line, message, pat);
    const isForAnotherPat = answer.status === 401 || answer.body?.result?.structuredContent?.error?.details?.reason === 'policy_changed';
    return isForAnotherPat ? post(line, message, await pats.replace(pat)) : answer;
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
      return body?.jsonrpc === '2.0' ? body : fail(body?.error?.message ?? `The service answered with status ${status}.`);
    } catch (error) {
      if (error instanceof PolicyDeclined && id !== undefined)
        return { jsonrpc: '2.0', id, result: declined(error, howToAccept, params?._meta !== undefined) };
      if (error instanceof IntentGateError) return fail(error.message);
      return fail('The service cannot be reached.');
    }
  };
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
