import { readAddress } from './address.ts';
import { noteHeaders } from './answer-issues.ts';
import { Deferred, IntentGateError, Refusal, UnexpectedAnswer } from './errors.ts';
import { type Exchange, type HttpOptions, openHttp, pause, readFailure, type SendOptions } from './http.ts';
import { parseForwarded, parseJson } from './json.ts';
import { makeProof } from './jws.ts';
import { type KeyPair, type KeyStore, obtainKey } from './keys.ts';
import { type AgreementStore, type OnPolicy, openPats, type Pat } from './pats.ts';
import { noteReceipt } from './receipts.ts';
import type { ExecutionState, FullIntent, IntentPage, PendingExecution, SearchQuery } from './types.ts';

export { issuesOf, type Upstream, upstreamOf } from './answer-issues.ts';
export {
  type ClientErrorCode,
  Deferred,
  type ErrorCode,
  type GateErrorCode,
  gateErrorCodes,
  IntentGateError,
  PolicyDeclined,
  RateLimited,
  Refusal,
  UnexpectedAnswer,
  Unreachable,
} from './errors.ts';
export { parseJson, stringifyJson } from './json.ts';
export { type KeyPair, type KeyStore, openMemoryKeyStore, type WebCryptoKey } from './keys.ts';
export type { Agreement, AgreementStore, OnPolicy } from './pats.ts';
export {
  type ReceiptClaims,
  type ReceiptFile,
  type ReceiptReport,
  receiptOf,
  verifyReceipt,
} from './receipts.ts';
export type * from './types.ts';

export interface ConnectOptions extends Pick<HttpOptions, 'fetch' | 'maxAttempts' | 'maxWaitMs' | 'onWait' | 'timeoutMs'> {
  /** 1 to 256 characters; the id belongs to the first key that uses it */
  agentId: string;
  /** default: the one in `keyStore`, created on first use */
  key?: KeyPair;
  /** where the key is stored; default: in memory, until the process ends */
  keyStore?: KeyStore;
  /** called before a policy is signed, and again after it has changed; nothing is signed unless it returns true */
  onPolicy: OnPolicy;
  /** https origin of the company behind the agent. If its Web Bot Auth directory lists the key, the agent is verified for that domain */
  agentDirectory?: string | undefined;
  /** sends DPoP proofs (RFC 9449), so that a stolen PAT is worthless; default: false */
  dpop?: boolean;
  /** stores agreements and PATs between runs; default: in memory, until the process ends */
  agreementStore?: AgreementStore;
  /** public address of the gate, if it differs from the one used to reach it */
  publicUrl?: string;
  /**
   * parses the answers of intents; default: {@link parseJson}, which returns integers beyond 2^53 as bigint. `JSON.parse` returns all numbers as doubles;
   * a library such as lossless-json keeps every digit of decimals
   */
  parse?: (text: string) => unknown;
}

export interface CallOptions {
  /** aborts waiting for the answer */
  signal?: AbortSignal;
}

export interface ExecuteOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters; default: a new one per call. Repeating a key within a day does not execute the intent again */
  idempotencyKey?: string;
  /** 1 to 50 JSON pointers to the wanted members of the answer, such as `/name`. After an array, a name selects that member of every item. Default: all */
  fields?: readonly string[];
  /** maximum size of the answer, in bytes. A longer answer is cut after a member or item, and gets a `cut` that says where. Default: no limit */
  maxBytes?: number;
  /** digest or entity tag of the intent. If the intent has changed since, nothing is executed, and the refusal is CONFLICT with `details.changed` */
  ifMatch?: string;
  /** whether to wait for a call that needs approval or takes minutes; a function gets its initial state and each change. Default: throw {@link Deferred} */
  wait?: boolean | ((state: PendingExecution) => void);
  /** lets the gate answer before the call ends, which may then take ten minutes. Use it with `wait` or {@link IntentGate.readExecution} */
  respondAsync?: boolean;
  /** trace context of the caller (W3C Trace Context), which the gate continues */
  traceparent?: string;
}

/**
 * The intents of a gate by uid, as declared by `intent-gate types`. Without declarations, any string is a uid, and parameters and answers may be any
 * object.
 */
// biome-ignore lint/suspicious/noEmptyInterface: declarations add the members
export interface Intents {}

export type IntentUid = keyof Intents & string;

/** With declarations, literal uids must be declared; a uid known only at runtime may be any string. */
type KnownUid<Uid extends string> = Uid extends IntentUid ? Uid : string extends Uid ? Uid : [IntentUid] extends [never] ? Uid : IntentUid;

type Declared<Uid extends string> = Uid extends IntentUid ? Intents[Uid] : unknown;

export type ParametersOf<Uid extends string> = Declared<Uid> extends { parameters: infer Parameters } ? Parameters : object;

export type AnswerOf<Uid extends string> = Declared<Uid> extends { answer: infer Answer } ? Answer : Record<string, unknown>;

export type PartOf<Answer> = Answer extends readonly (infer Item)[]
  ? PartOf<Item>[]
  : Answer extends object
    ? { [Name in keyof Answer]?: PartOf<Answer[Name]> }
    : Answer;

/** Where an answer longer than `maxBytes` was cut. */
export interface Cut {
  /** JSON pointer to the first missing member or item, or to the truncated string */
  at: string;
  /** total number of items or members, or of characters of a string */
  total: number;
}

/** A client of a gate, for agents. All methods throw {@link IntentGateError}, or their signal's reason. */
export interface IntentGate {
  /** Finds intents. Like `get`, sends the PAT if there is one, for gates that show an agent only what its policy permits. */
  search(query: string | SearchQuery, options?: CallOptions): Promise<IntentPage>;
  get(intentUid: string, options?: CallOptions): Promise<FullIntent>;
  /** Executes an intent; accepts the policy and gets a PAT first if necessary. {@link issuesOf} lists mismatches in the answer, {@link upstreamOf} returns the service's status and header fields, {@link receiptOf} the receipt. */
  execute<const Uid extends IntentUid | (string & {}), Options extends ExecuteOptions = ExecuteOptions>(
    intent: KnownUid<Uid> | { intent_uid: Uid },
    parameters: ParametersOf<Uid>,
    options?: Options,
  ): Promise<
    Options extends { maxBytes: unknown }
      ? PartOf<AnswerOf<Uid>> & { cut?: Cut }
      : Options extends { fields: unknown }
        ? PartOf<AnswerOf<Uid>>
        : AnswerOf<Uid>
  >;
  /** Reads the state of a deferred call. @param execution - its id, or the address in its state */
  readExecution(execution: string, options?: CallOptions): Promise<ExecutionState>;
  /** Returns the current PAT, for programs that send it themselves; accepts the policy first if necessary. */
  obtainPat(): Promise<{ pat: string; expiresAt: Date | undefined }>;
}

const executePath = '/api/intents/execute';

/** Maximum number of new PATs per request: one because the PAT was refused, one because the policy changed meanwhile. */
const maxReplacements = 2;

/**
 * Creates a client of a gate. Sends nothing yet.
 * @param url - address of the gate, for example `https://gate.example`
 * @throws TypeError if an option is invalid
 */
export async function connect(url: string, options: ConnectOptions): Promise<IntentGate> {
  // `parse` applies only to answers of intents
  const { parse = parseJson, ...others } = options;
  const { agentId, agentDirectory, onPolicy, dpop = false, agreementStore: store } = others;
  const base = readAddress(url);
  const publicUrl = options.publicUrl === undefined ? base : readAddress(options.publicUrl);
  if (typeof agentId !== 'string' || agentId === '') throw new TypeError('connect needs an agentId');
  if (typeof onPolicy !== 'function') throw new TypeError('connect needs onPolicy, a function that decides whether a policy is accepted');
  const key = options.key ?? (await obtainKey(agentId, options.keyStore));
  const http = openHttp({ ...others, url: base });
  const pats = openPats({ http, key, agentId, agentDirectory, publicUrl, onPolicy, usesProofs: dpop, store });

  async function authorize({ text: pat }: Pat, method: string, path: string): Promise<Record<string, string>> {
    if (!dpop) return { Authorization: `Bearer ${pat}` };
    const proof = await makeProof(key, { method, url: publicUrl + path, pat, nowMs: http.now() });
    return { Authorization: `DPoP ${pat}`, DPoP: proof };
  }

  /** Sends a request with a PAT, and retries with a new PAT if that one is refused. */
  async function sendWithPat(
    method: string,
    path: string,
    { headers, ...options }: SendOptions,
    idempotencyKey?: string,
  ): Promise<Exchange> {
    const { signal } = options;
    let { effect } = options;
    let refused: [pat: Pat, error: Refusal] | undefined;
    for (let replacements = 0; ; replacements++) {
      const pat = await orAborted(refused ? pats.replace(...refused) : pats.obtain(), signal).catch((error: unknown) => {
        if (effect === undefined || !(error instanceof IntentGateError)) throw error;
        // calls that wait for one PAT share its error
        const message = `${error.message} An earlier attempt may have made the call.`;
        throw Object.assign(new IntentGateError(error.code, message, { cause: error }), { idempotencyKey });
      });
      try {
        const prepare = async () => ({ headers: { ...(await authorize(pat, method, path)), ...headers } });
        return await http.send(method, path, { ...options, effect, prepare });
      } catch (error) {
        if (idempotencyKey !== undefined && error instanceof IntentGateError) Object.assign(error, { idempotencyKey });
        if (replacements === maxReplacements || !needsNewPat(error)) throw error;
        if (error.mayBeDone) effect = 'call';
        refused = [pat, error];
      }
    }
  }

  /** Reads with the PAT if there is one, because it decides what the gate shows. A PAT that is refused counts as none. */
  async function read(path: string, options: SendOptions): Promise<Exchange> {
    const pat = await orAborted(pats.find(), options.signal);
    if (!pat) return http.send('GET', path, options);
    return http.send('GET', path, { ...options, prepare: async () => ({ headers: await authorize(pat, 'GET', path) }) }).catch((error) => {
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) return http.send('GET', path, options);
      throw error;
    });
  }

  const readState = async (execution: string, signal: AbortSignal | undefined, key?: string): Promise<Exchange> => {
    const id = execution.slice(execution.lastIndexOf('/') + 1);
    return sendWithPat('GET', `/api/executions/${encodeURIComponent(id)}`, { signal, effect: key === undefined ? undefined : 'call' }, key);
  };

  /**
   * Waits until a call has ended.
   * @throws Refusal if the call was refused. Fetching that by repeating the request could make another call, because the idempotency key may be free again
   */
  async function waitForEnd(pending: PendingExecution, { wait, signal }: ExecuteOptions, idempotencyKey: string): Promise<void> {
    let state: ExecutionState = pending;
    let read: Exchange | undefined;
    for (let shown: string | undefined; isPending(state); state = parseForwarded(read.text) as ExecutionState) {
      if (typeof wait === 'function' && state.status !== shown) wait(state);
      shown = state.status;
      await pause(pollMs, signal);
      read = await readState(state.execution, signal, idempotencyKey);
    }
    if (!read || state.status !== 'done' || state.outcome.status < 400) return;
    throw Object.assign(readFailure({ ...read, ...state.outcome, headers: new Headers() }), { idempotencyKey });
  }

  return {
    search: async (query, { signal } = {}) => {
      const { tags, ...rest } = typeof query === 'string' ? { query } : query;
      const answer = await read('/api/intents/search', { query: { ...rest, tags: tags?.join(',') }, signal });
      return bodyOf<IntentPage>(answer, ({ intents, pagination }) => Array.isArray(intents) && typeof pagination === 'object');
    },

    get: async (intentUid, { signal } = {}) => {
      const answer = await read(`/api/intents/${encodeURIComponent(intentUid)}`, { query: { view: 'full' }, signal });
      return bodyOf<FullIntent>(answer, ({ intent_uid }) => typeof intent_uid === 'string');
    },

    execute: async (intent: string | { intent_uid: string }, parameters, options: ExecuteOptions = {}) => {
      const { signal, idempotencyKey = crypto.randomUUID(), fields, maxBytes, ifMatch, wait, respondAsync, traceparent } = options;
      if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) throw new TypeError('an idempotencyKey has 1 to 255 visible ASCII characters');
      const intentUid = typeof intent === 'string' ? intent : intent.intent_uid;
      const body = { intent_uid: intentUid, parameters, fields, max_bytes: maxBytes };
      const own: Record<string, string> = {
        'Idempotency-Key': idempotencyKey,
        ...(ifMatch !== undefined && { 'If-Match': /^(W\/)?"|^\*$/.test(ifMatch) ? ifMatch : `"${ifMatch}"` }),
        ...(respondAsync && { Prefer: 'respond-async' }),
        ...(traceparent !== undefined && { traceparent }),
      };
      const ask = (effect?: 'call') => sendWithPat('POST', executePath, { body, headers: own, signal, intentUid, effect }, idempotencyKey);
      let answered = await ask();
      if (answered.status === 202 && wait) {
        await waitForEnd(answered.body as PendingExecution, options, idempotencyKey);
        answered = await ask('call');
      }
      const { status, body: answer, text, headers } = answered;
      if (status === 204) throw Object.assign(new UnexpectedAnswer(answered, 'call'), { idempotencyKey });
      if (status === 202) throw new Deferred(answer as PendingExecution, idempotencyKey);
      return noteReceipt(noteHeaders(parse(text), headers), answered, parameters) as never;
    },

    readExecution: async (execution, { signal } = {}) => {
      const read = await readState(execution, signal);
      bodyOf<ExecutionState>(read, ({ status }) => typeof status === 'string');
      return parse(read.text) as ExecutionState;
    },

    obtainPat: async () => {
      const { text, expiresAtMs } = await pats.obtain();
      return { pat: text, expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs) };
    },
  };
}

/** @throws UnexpectedAnswer if a gate would not send this object */
function bodyOf<Body>(answer: Exchange, isRight: (body: Partial<Body>) => boolean): Body {
  if (!isRight((answer.body ?? {}) as Partial<Body>)) throw new UnexpectedAnswer(answer);
  return answer.body as Body;
}

/** Polling interval while waiting for a call, in milliseconds. */
const pollMs = 2_000;

const isPending = (state: ExecutionState): state is PendingExecution => state.status === 'waiting' || state.status === 'working';

const needsNewPat = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.code === 'UNAUTHORIZED' || error.details.reason === 'policy_changed');

/** Stops waiting when the signal aborts, without cancelling work that other callers share. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
