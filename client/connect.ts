import { readAddress } from './address.ts';
import { noteIssues } from './answer-issues.ts';
import { Deferred, Refusal, UnexpectedAnswer } from './errors.ts';
import { type Exchange, openHttp, pause, readFailure, type SendOptions } from './http.ts';
import { parseJson } from './json.ts';
import { makeProof } from './jws.ts';
import { type KeyPair, type KeyStore, obtainKey } from './keys.ts';
import { type AgreementStore, type OnPolicy, openPats, type Pat } from './pats.ts';
import { noteReceipt } from './receipts.ts';
import type { ExecutionState, FullIntent, IntentPage, PendingExecution, SearchQuery } from './types.ts';

export { issuesOf } from './answer-issues.ts';
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
  type Checkpoint,
  compareCheckpoints,
  type ReceiptClaims,
  type ReceiptFile,
  type ReceiptReport,
  receiptOf,
  verifyCheckpoint,
  verifyReceipt,
} from './receipts.ts';
export type * from './types.ts';

export interface ConnectOptions {
  /** 1 to 256 characters; it belongs to the first key that uses it */
  agentId: string;
  /** default: the one in `keyStore`, created on first use */
  key?: KeyPair;
  /** default: memory, until the process ends */
  keyStore?: KeyStore;
  /** called before a policy is signed, and again when it has changed; nothing is signed unless it returns true */
  onPolicy: OnPolicy;
  /** https origin of the company behind the agent, whose Web Bot Auth directory lists the key: the agent is verified for its domain */
  agentDirectory?: string | undefined;
  /** sends proofs of possession (RFC 9449), so that a stolen PAT is worthless; default false */
  dpop?: boolean;
  /** keeps agreements and PATs between runs; default: memory, until the process ends */
  agreementStore?: AgreementStore;
  /** public address of the gate, if it differs from the one used to reach it */
  publicUrl?: string;
  /** maximum number of attempts if nothing answers or the gate is unavailable; default 4 */
  maxAttempts?: number;
  /** maximum wait for quota or for an unavailable gate, in milliseconds; default 90,000, long enough for a quota per minute */
  maxWaitMs?: number;
  /** time limit of one attempt, in milliseconds; default 35,000, longer than the gate ever takes */
  timeoutMs?: number;
  /**
   * reads the answers of intents; default: {@link parseJson}, which gives integers beyond 2^53 as bigint. `JSON.parse` gives all numbers as doubles, a
   * library such as lossless-json decimals with every digit
   */
  parse?: (text: string) => unknown;
  /** default: the global one */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** stops waiting for the answer */
  signal?: AbortSignal;
}

export interface ExecuteOptions extends CallOptions {
  /** 1 to 255 visible characters; default: a new one per call. With the same key, the intent is executed once within a day */
  idempotencyKey?: string;
  /** JSON pointers to the wanted members of the answer, for example `/name`; after an array, a name means that member of every item. 1 to 50; default: all */
  fields?: readonly string[];
  /** maximum size of the answer, in bytes; a longer one is cut after a member or item, and its `cut` says where. Default: no limit */
  maxBytes?: number;
  /** the digest or entity tag of the intent as it was read: if the intent has changed, nothing is executed, and the refusal is CONFLICT with `details.changed` */
  ifMatch?: string;
  /** a call that a person has to approve, or that takes minutes, is waited for; the function gets its state at first and after each change. Default: {@link Deferred} is thrown */
  wait?: boolean | ((state: PendingExecution) => void);
  /** the gate answers before the call has ended, which may then take ten minutes: for use with `wait` or {@link IntentGate.readExecution} */
  respondAsync?: boolean;
  /** the caller's position in a trace (W3C Trace Context), which the gate continues */
  traceparent?: string;
}

/**
 * The intents of a gate, by their uids, as `intent-gate types` declares them; without declarations, every text is a uid, and parameters and answers may be
 * any object.
 */
// biome-ignore lint/suspicious/noEmptyInterface: declarations add the members
export interface Intents {}

export type IntentUid = keyof Intents & string;

/** With declarations, literal uids must be declared; a uid known only at runtime is any text. */
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
  /** JSON pointer to the first missing member or item, or to the shortened text */
  at: string;
  /** number of items or members in all; of a text, characters */
  total: number;
}

/** A gate, as an agent sees it. All methods throw {@link IntentGateError}, or the reason of their signal. */
export interface IntentGate {
  search(query: string | SearchQuery, options?: CallOptions): Promise<IntentPage>;
  get(intentUid: string, options?: CallOptions): Promise<FullIntent>;
  /** Executes an intent; accepts the policy and gets a PAT first if necessary. {@link issuesOf} the answer says where it is not as described, {@link receiptOf} it proves the execution. */
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
  /** What has become of a call that is made later. @param execution - its id, or the address in its state */
  readExecution(execution: string, options?: CallOptions): Promise<ExecutionState>;
  /** The current PAT, for programs that send it themselves; accepts the policy first if necessary. */
  obtainPat(): Promise<{ pat: string; expiresAt: Date | undefined }>;
}

const executePath = '/api/intents/execute';

/** Once because the PAT was refused, once because the policy changed in the meantime. */
const maxReplacements = 2;

/**
 * Makes a client of a gate; nothing is sent yet.
 * @param url - address of the gate, for example `https://gate.example`
 * @throws TypeError if an option makes no sense
 */
export async function connect(url: string, options: ConnectOptions): Promise<IntentGate> {
  // applies only to answers of intents
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

  /** Sends a request with a PAT, and with another one if that is refused. */
  async function sendWithPat(method: string, path: string, { headers, ...options }: SendOptions): Promise<Exchange> {
    const { signal } = options;
    let pat = await orAborted(pats.obtain(), signal);
    for (let replacements = 0; ; replacements++) {
      try {
        const used = pat;
        const prepare = async () => ({ headers: { ...(await authorize(used, method, path)), ...headers } });
        return await http.send(method, path, { ...options, prepare });
      } catch (error) {
        if (replacements === maxReplacements || !isForAnotherPat(error)) throw error;
        pat = await orAborted(pats.replace(pat, error), signal);
      }
    }
  }

  const readState = async (execution: string, signal: AbortSignal | undefined): Promise<Exchange> => {
    const id = execution.slice(execution.lastIndexOf('/') + 1);
    return sendWithPat('GET', `/api/executions/${encodeURIComponent(id)}`, { signal });
  };

  /**
   * Waits until a call has ended.
   * @throws Refusal if it ended in one: the key may be free again, and asking again would make another call
   */
  async function waitForEnd(pending: PendingExecution, wait: ExecuteOptions['wait'], signal: AbortSignal | undefined): Promise<void> {
    let state: ExecutionState = pending;
    let read: Exchange | undefined;
    for (let shown: string | undefined; isPending(state); state = read.body as ExecutionState) {
      if (typeof wait === 'function' && state.status !== shown) wait(state);
      shown = state.status;
      await pause(pollMs, signal);
      read = await readState(state.execution, signal);
    }
    if (!read || state.status !== 'done' || state.outcome.status < 400) return;
    throw readFailure({ ...read, ...state.outcome, headers: new Headers() });
  }

  return {
    search: async (query, { signal } = {}) => {
      const { tags, ...rest } = typeof query === 'string' ? { query } : query;
      const answer = await http.send('GET', '/api/intents/search', { query: { ...rest, tags: tags?.join(',') }, signal });
      return bodyOf<IntentPage>(answer, ({ intents, pagination }) => Array.isArray(intents) && typeof pagination === 'object');
    },

    get: async (intentUid, { signal } = {}) => {
      const answer = await http.send('GET', `/api/intents/${encodeURIComponent(intentUid)}`, { query: { view: 'full' }, signal });
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
      const ask = () => sendWithPat('POST', executePath, { body, headers: own, signal, intentUid });
      let answered = await ask();
      if (answered.status === 202 && wait) {
        await waitForEnd(answered.body as PendingExecution, wait, signal);
        answered = await ask();
      }
      const { status, body: answer, text, headers } = answered;
      if (status === 202) throw new Deferred(answer as PendingExecution, idempotencyKey);
      return noteReceipt(noteIssues(parse(text), headers), answered, parameters) as never;
    },

    readExecution: async (execution, { signal } = {}) =>
      bodyOf<ExecutionState>(await readState(execution, signal), ({ status }) => typeof status === 'string'),

    obtainPat: async () => {
      const { text, expiresAtMs } = await pats.obtain();
      return { pat: text, expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs) };
    },
  };
}

/** @throws UnexpectedAnswer for an object that no gate answers with */
function bodyOf<Body>(answer: Exchange, isRight: (body: Partial<Body>) => boolean): Body {
  if (!isRight((answer.body ?? {}) as Partial<Body>)) throw new UnexpectedAnswer(answer);
  return answer.body as Body;
}

/** How often the state of a call is read while it is waited for, in milliseconds. */
const pollMs = 2_000;

const isPending = (state: ExecutionState): state is PendingExecution => state.status === 'waiting' || state.status === 'working';

const isForAnotherPat = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.code === 'UNAUTHORIZED' || error.details.reason === 'policy_changed');

/** One caller's cancellation does not cancel what others wait for. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
