import { hash } from 'node:crypto';
import type { PatClaims } from '../../../schemas/pat.ts';
import { foldName } from '../../../schemas/text.ts';
import { type FoundAgent, presentedId } from '../activity/agent.ts';
import { pack, unpack } from '../json/pack.ts';
import { holderOf } from '../pat/holder.ts';
import { ApiError } from '../runtime/api-error.ts';
import { describeCause, log } from '../runtime/log.ts';
import { newUlid } from '../runtime/ulid.ts';
import { type Key, keys } from '../table/keys.ts';
import { persist } from '../table/retry.ts';
import type { Item, Table, Write } from '../table/table.ts';

/** Maximum number of calls in each queue, in all and per holder. */
export const maxWaitingCalls = 1_000;
export const maxOfHolder = 20;

/** Each queue is divided by holder, so that one conditional write of a small item changes it, and few changes meet. */
const partCount = 8;
export const maxOfPart = maxWaitingCalls / partCount;

/** How long an agent is new, in milliseconds. In a full queue, each of its calls counts like several, because new keys are free. */
const newMs = 24 * 3_600_000;
const newWeight = 10;

/** `held`: calls that wait for approval; `callQueue`: calls that run in the background without one. */
export type Queue = 'held' | 'callQueue';

export interface QueuedCall {
  /** execution id, a ULID */
  id: string;
  /** digests of the holder's principal and of the agent_id that it presents */
  holder: string;
  agent: string;
  /** digest of the policy and the generation of PATs under which it was requested */
  under: string;
  /** when the gate first issued a PAT to the agent, in milliseconds since the epoch */
  since: number;
  /** when the call gives up its place, in milliseconds since the epoch */
  until: number;
  /** of the service, whose admins decide about the call */
  namespace?: string | undefined;
}

interface PartItem extends Item {
  /** packed */
  calls: Uint8Array;
  /** unique to this state of the part */
  revision: string;
}

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16);

const digestAgent = (agentId: string): string => digest(foldName(agentId));

export const digestHolder = (claims: PatClaims): string => digest(holderOf(claims).principal);

export const queuedCall = (claims: PatClaims, call: Omit<QueuedCall, 'holder' | 'agent' | 'under'>): QueuedCall => ({
  ...call,
  holder: digestHolder(claims),
  agent: digestAgent(presentedId(claims.sub, holderOf(claims).principal)),
  under: digest(`${claims.pol} ${claims.gen}`),
});

/** Whether a block of this agent, by its id and its key, covers the call. */
export const isCovered = ({ holder, agent }: QueuedCall, { agentId, thumbprint }: FoundAgent): boolean =>
  agent === digestAgent(agentId) || (thumbprint !== undefined && holder === digest(thumbprint));

/** Whether the call may be of this agent; others that share its agent_id are not told apart. */
export const mayBeOf = ({ agent }: QueuedCall, agentId: string): boolean =>
  [agentId, agentId.replace(/~[\w-]{43}$/, '')].some((presented) => agent === digestAgent(presented));

const partOf = (queue: Queue, holder: string): Key => keys.queuePart(queue, (Buffer.from(holder, 'base64url')[0] ?? 0) % partCount);

const readCalls = async (part: PartItem | undefined, nowMs: number): Promise<QueuedCall[]> =>
  part ? ((await unpack(part.calls)) as QueuedCall[]).filter(({ until }) => until > nowMs) : [];

const writePart = async (key: Key, read: PartItem | undefined, calls: QueuedCall[]) => ({
  put: {
    ...key,
    calls: await pack(calls),
    revision: newUlid(),
    expires_at: Math.ceil(Math.max(0, ...calls.map(({ until }) => until)) / 1_000),
  },
  when: [read ? (['=', 'revision', read.revision] as const) : (['absent', 'pk'] as const)],
});

/** The unexpired calls of a queue, oldest first. */
export async function listQueue(table: Pick<Table, 'getAll'>, queue: Queue, nowMs: number): Promise<QueuedCall[]> {
  const parts = await table.getAll<PartItem>(Array.from({ length: partCount }, (_, part) => keys.queuePart(queue, part)));
  const calls = (await Promise.all(parts.map((part) => readCalls(part, nowMs)))).flat();
  return calls.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The ids of the calls of a PAT's holder, oldest first, that were requested under another policy or generation of PATs. Reads one item. */
export async function listStale(table: Pick<Table, 'get'>, queue: Queue, claims: PatClaims, nowMs: number): Promise<string[]> {
  const own = queuedCall(claims, { id: '', since: 0, until: 0 });
  const calls = await readCalls(await table.get<PartItem>(partOf(queue, own.holder)), nowMs);
  return calls.filter(({ holder, under }) => holder === own.holder && under !== own.under).map(({ id }) => id);
}

const tooMany = (message: string) =>
  new ApiError('TOO_MANY_REQUESTS', message, {
    details: { reason: 'waiting_calls', outcome: 'not_sent' },
    headers: { 'Retry-After': '60' },
  });

const refusals: Record<Queue, Record<'ofHolder' | 'inAll', string>> = {
  held: {
    ofHolder: `${maxOfHolder} of your calls are waiting for approval, which is the maximum. Wait until some are decided; reading the state of one whose intent has changed frees its place.`,
    inAll: 'Too many calls are waiting for approval. Try again later, or ask the operators of this gate to decide.',
  },
  callQueue: {
    ofHolder: `${maxOfHolder} of your calls are being made in the background, which is the maximum. Wait until some have ended.`,
    inAll: 'Too many calls are being made in the background. Try again later, or send this one without Prefer: respond-async.',
  },
};

/**
 * The call that gives way to another in a full part, if any does: the oldest of the holder with the highest load, which is the number of its calls,
 * tenfold for a new agent. Only a call whose holder has a lower load, with this call, displaces it; of equal loads, that of the earlier agent.
 * @param begun - ids of calls that have begun, and keep their places
 */
function findDisplaced(calls: readonly QueuedCall[], call: QueuedCall, nowMs: number, begun: ReadonlySet<string>): QueuedCall | undefined {
  const counts = Map.groupBy(calls, ({ holder }) => holder);
  const loadOf = ({ holder, since }: QueuedCall, more = 0) =>
    ((counts.get(holder)?.length ?? 0) + more) * (since > nowMs - newMs ? newWeight : 1);
  const waiting = calls.filter(({ id }) => !begun.has(id));
  const [last] = waiting.toSorted((a, b) => loadOf(b) - loadOf(a) || b.since - a.since || (a.id < b.id ? -1 : 1));
  return last && (loadOf(call, 1) - loadOf(last) || call.since - last.since) < 0 ? last : undefined;
}

/**
 * Plans how a call takes a place in its queue. Reads one item.
 * @param begun - ids of calls that have turned out to have begun
 * @returns the write, and the call that has to give way in the same transaction
 * @throws ApiError TOO_MANY_REQUESTS if there is no place
 */
export async function planEntry(
  table: Pick<Table, 'get'>,
  queue: Queue,
  call: QueuedCall,
  nowMs: number,
  begun: ReadonlySet<string>,
): Promise<{ write: Write; displaced: QueuedCall | undefined }> {
  const key = partOf(queue, call.holder);
  const part = await table.get<PartItem>(key);
  const calls = await readCalls(part, nowMs);
  if (calls.filter(({ holder }) => holder === call.holder).length >= maxOfHolder) throw tooMany(refusals[queue].ofHolder);
  const displaced = calls.length < maxOfPart ? undefined : findDisplaced(calls, call, nowMs, begun);
  if (calls.length >= maxOfPart && !displaced) throw tooMany(refusals[queue].inAll);
  return { write: await writePart(key, part, [...calls.filter((one) => one !== displaced), call]), displaced };
}

/** Gives up the places of calls of one holder. If that fails, the calls give them up when they expire. */
export async function leaveQueue(
  table: Pick<Table, 'get' | 'put' | 'pause'>,
  queue: Queue,
  holder: string,
  ids: readonly string[],
): Promise<void> {
  const key = partOf(queue, holder);
  const leave = async () => {
    const part = await table.get<PartItem>(key);
    const calls = await readCalls(part, 0);
    const left = calls.filter(({ id }) => !ids.includes(id));
    if (left.length === calls.length) return { value: undefined };
    const { put, when } = await writePart(key, part, left);
    return (await table.put(put, { when })) ? { value: undefined } : undefined;
  };
  await persist(leave, table.pause).catch((error: unknown) => log.warn('places of deferred calls kept', { cause: describeCause(error) }));
}
