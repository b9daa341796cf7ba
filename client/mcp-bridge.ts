import {
  describeWait,
  type Effect,
  IntentGateError,
  PolicyDeclined,
  RateLimited,
  Refusal,
  UnexpectedAnswer,
  Unreachable,
} from './errors.ts';
import { effectOf, type Http } from './http.ts';
import { type McpConsentOptions, openMcpConsent } from './mcp-consent.ts';
import { isRefusal, type Message, readObject, refusalResult, revisionOf, toolResult, toTaskError } from './mcp-messages.ts';
import { type AgreementStore, type OnPolicy, openPats, type Signer } from './pats.ts';
import { fetchPolicyInWords } from './policy.ts';

interface McpBridgeOptions extends Pick<McpConsentOptions, 'acceptCommand' | 'send'> {
  http: Http;
  publicUrl: string;
  signer: Signer;
  store: AgreementStore;
}

export type McpBridge = ReturnType<typeof openMcpBridge>;

interface Answer {
  status: number;
  /** what the request may have caused if the answer is not a gate's */
  effect: Effect | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a message is forwarded whatever its content
  body: any;
}

type Outcome = { result: object } | { error: object };

interface Request {
  line: string;
  message: Message;
  /** aborted once the host cancels the request */
  signal: AbortSignal;
}

/** Maximum number of times to ask, in case the policy changes while the person reads it. */
const maxQuestions = 3;

/** Replaces the gate's description of the tool, because the bridge signs with its own key. */
const acceptTool = {
  description:
    'Shows the usage policy and lets the person you work for accept it. Afterwards, execute_intent needs no PAT, which is added automatically. Calling this first is optional, because execute_intent asks if necessary.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
};

/** Forwards MCP messages to the gate, adds the PAT to executions, and asks the person for consent. Failed calls return results that the model can read. */
export function openMcpBridge({ http, publicUrl, signer, store, acceptCommand, send }: McpBridgeOptions) {
  const consent = openMcpConsent({ url: http.url, agentId: signer.agentId, acceptCommand, send });
  const onPolicy: OnPolicy = (policy) => consent.isAccepted(policy);
  const pats = openPats({ ...signer, http, publicUrl, usesProofs: false, store, onPolicy });

  /** MCP session id, by which the gate knows the host's capabilities */
  let session: string | undefined;

  async function post({ line, message, signal }: Request, bearer?: string): Promise<Answer> {
    const { method = '', params } = message;
    const version = revisionOf(message);
    const name = params?.name ?? params?.taskId;
    const headers = {
      Accept: 'application/json, text/event-stream',
      ...(version !== undefined && {
        'MCP-Protocol-Version': version,
        'Mcp-Method': method,
        ...(name && { 'Mcp-Name': name }),
      }),
      ...(session !== undefined && { 'Mcp-Session-Id': session }),
    };
    const effect = effectOfTool(message);
    const raw = { text: line, mediaType: 'application/json' };
    const answer = await http.exchange('POST', '/mcp', { headers, bearer, raw, signal, effect });
    if (method === 'initialize') session = answer.headers.get('mcp-session-id') ?? undefined;
    return { status: answer.status, effect: effectOf(answer, effect), body: readObject(answer.text) };
  }

  async function execute(request: Request): Promise<Answer> {
    const pat = await pats.obtain();
    const answer = await post(request, pat.text);
    const refusal = readRefusal(answer);
    return refusal ? post(request, (await pats.replace(pat, refusal)).text) : answer;
  }

  /** Reads with the PAT if there is one, because it decides what the gate shows. A PAT that is refused counts as none. */
  async function read(request: Request): Promise<Answer> {
    const pat = await pats.find();
    const answer = await post(request, pat?.text);
    return pat && readRefusal(answer) ? post(request) : answer;
  }

  async function accept(): Promise<Outcome> {
    await pats.obtain();
    const { inWords } = await fetchPolicyInWords(http);
    const lines = ['The usage policy is accepted:', ...inWords.map((sentence) => `- ${sentence}`)];
    const next = 'Call execute_intent, without a pat: it is added automatically.';
    return { result: toolResult([...lines, `Next: ${next}`].join('\n'), { agent_id: signer.agentId, in_words: inWords, next }) };
  }

  async function withConsent(message: Message, work: () => Promise<Outcome>): Promise<Outcome> {
    const ask = consent.begin(message);
    for (let questions = 1; ; questions++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof PolicyDeclined) || questions > maxQuestions) throw error;
        const result = await ask(error);
        if (result !== undefined) return { result };
      }
    }
  }

  async function call(request: Request): Promise<Outcome> {
    const { message } = request;
    const { name, arguments: given } = message.params ?? {};
    if (name === 'accept_policy') return withConsent(message, accept);
    if (typeof given?.pat === 'string') return readOutcome(await post(request));
    if (name !== 'execute_intent') return readOutcome(await read(request));
    return withConsent(message, async () => readOutcome(await execute(request)));
  }

  async function answerCall(request: Request): Promise<object> {
    const outcome = await call(request).catch((error: unknown): Outcome => {
      if (error instanceof IntentGateError) return { result: describe(error, effectOfTool(request.message)) };
      throw error;
    });
    if ('error' in outcome) return outcome;
    const { result } = outcome;
    if (revisionOf(request.message) !== undefined) return { result: { resultType: 'complete', ...result } };
    return request.message.params?.task && isRefusal(result) ? { error: toTaskError(result) } : { result };
  }

  async function forward(request: Request, work: (request: Request) => Promise<Answer> = post): Promise<object> {
    const { status, body } = await work(request);
    if (body?.jsonrpc !== '2.0') throw new Error(body?.error?.message ?? `The gate answered with status ${status}.`);
    if (request.message.method === 'tools/list') body.result?.tools?.forEach(describeHere);
    return body;
  }

  async function answerRequest(request: Request): Promise<object> {
    const { id, method } = request.message;
    if (method?.startsWith('tasks/')) return forward(request, execute);
    if (method !== 'tools/call') return forward(request);
    return { jsonrpc: '2.0', id, ...(await answerCall(request)) };
  }

  /** requests that have not been answered, by id in JSON */
  const running = new Map<string, AbortController>();

  return {
    /** Answers one line; undefined if the message needs no answer. */
    answer: async (line: string): Promise<object | undefined> => {
      if (line.trim() === '') return undefined;
      const message = readObject<Message>(line);
      if (!message) return { jsonrpc: '2.0', error: { code: -32700, message: 'A line must contain one JSON-RPC message.' } };
      if (consent.read(message)) return undefined;
      const { id, method, params } = message;
      if (method === 'notifications/cancelled') return void running.get(JSON.stringify(params?.requestId))?.abort();
      const ended = new AbortController();
      const request = { line, message, signal: ended.signal };
      const key = JSON.stringify(id);
      if (id !== undefined) running.set(key, ended);
      try {
        if (id === undefined) return void (await post(request));
        const answer = await answerRequest(request);
        return ended.signal.aborted ? undefined : answer;
      } catch (error) {
        if (id === undefined || ended.signal.aborted) return undefined;
        return { jsonrpc: '2.0', id, error: { code: -32603, message: (error as Error).message } };
      } finally {
        if (running.get(key) === ended) running.delete(key);
      }
    },
    close: consent.close,
  };
}

/** @throws Refusal if the HTTP request was refused */
function readOutcome({ status, effect, body }: Answer): Outcome {
  if (body?.jsonrpc === '2.0') return body.error === undefined ? { result: body.result } : { error: body.error };
  const { code, message = `The gate answered with status ${status}.`, details = {} } = body?.error ?? {};
  if (code === undefined) throw new UnexpectedAnswer({ request: 'POST /mcp', status }, effect);
  throw new Refusal({ status, code, message, details, requestId: undefined, retryAfterMs: undefined });
}

/** The refusal, if the PAT of a call was refused. */
function readRefusal({ status, body }: Answer): Refusal | undefined {
  // the content of a success is the service's own, which may look like a refusal
  const { isError, structuredContent } = body?.result ?? {};
  const error = body?.error?.code === undefined ? isError === true && structuredContent?.error : body.error;
  if (status !== 401 && error?.code !== 'UNAUTHORIZED' && error?.details?.reason !== 'policy_changed') return undefined;
  const { code = 'UNAUTHORIZED', message = '', details = {} } = error ?? {};
  return new Refusal({ status, code, message, details, requestId: undefined, retryAfterMs: undefined });
}

function describeHere(tool: { name?: string }): void {
  if (tool.name === 'accept_policy') Object.assign(tool, acceptTool);
}

/** What a call of a tool causes. Without a key, the same call would be another one. */
function effectOfTool({ params }: Message): Effect | undefined {
  if (params?.name !== 'execute_intent') return undefined;
  return params.arguments?.idempotency_key ? 'call' : 'call without a key';
}

/** @param effect - of the request */
function describe(error: IntentGateError, effect: Effect | undefined): object {
  const { code, message } = error;
  return refusalResult({ code, message, ...(error instanceof Refusal && { details: error.details }), next: nextStep(error, effect) });
}

const tell = 'Tell the person you work for';

function nextStep(error: IntentGateError, effect: Effect | undefined): string {
  const reason = error instanceof Refusal ? error.details.reason : undefined;
  if (reason === 'agent_id_bound') return `${tell} to choose another --agent-id for this server, or to omit it.`;
  if (error.code === 'FOREIGN_POLICY')
    return `${tell}: if that address is the gate's own, they should pass it to this server as --public-url.`;
  if (reason === 'agent_blocked') return `Stop: this agent is blocked. ${tell} to ask the operators of this gate.`;
  if (reason === 'approval_pending')
    return 'Wait until the operators of this gate have approved this agent, then make the same call again.';
  if (error instanceof RateLimited) return `Make the same call again ${describeWait(error.retryAfterMs)}, not earlier.`;
  const isOfGate = error instanceof Refusal && error.status >= 500 && error.details.outcome !== 'not_sent' && reason !== 'paused';
  const mayBeMade = isOfGate || ((error instanceof Unreachable || error instanceof UnexpectedAnswer) && error.effect !== undefined);
  if (mayBeMade && effect === 'call without a key') return 'Find out whether the call was made before you make it again.';
  if (error.code === 'UNREACHABLE')
    return `Make the same call again later, with the same idempotency_key if it had one. If there is still no answer, ${tell.toLowerCase()}.`;
  if ((error instanceof Refusal || error instanceof UnexpectedAnswer) && (error.status === 429 || error.status >= 500))
    return 'Make the same call again later, with the same idempotency_key if it had one.';
  return `${tell}.`;
}
