import {
  type AgentItem,
  type AgentKeyItem,
  type AgentRecords,
  agentLifeSeconds,
  agentRecordKeys,
  type BoundAgent,
  isAgentUnchanged,
  isBlocked,
  lifeFrom,
  listActive,
  type Presented,
  sharedIdOf,
  toAgentRecords,
} from '../activity/agent.ts';
import { ApiError, unavailable } from '../runtime/api-error.ts';
import { newUlid } from '../runtime/ulid.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { agentBlocked, invalidSignature } from './refusals.ts';

/** An agent that asks for a PAT. */
export interface Application extends Presented {
  hasProof: boolean;
}

/** What a feature checks before an agent gets a PAT. */
export interface IssueCheck {
  /** what people read before they let a program have a PAT */
  notice?: string;
  /** the records that decide; they are read together with those of the agent */
  recordKeys(application: Application): Key[];
  decide(application: Application, records: AgentRecords, own: readonly (Item | undefined)[]): IssueDecision;
}

export interface IssueDecision {
  /** why the agent may not get a PAT */
  refusal?: {
    error: ApiError;
    /** what the first refusal leaves behind. That request is counted; later ones are refused earlier, without it */
    record?: (() => Promise<void>) | undefined;
  };
  /** members of the agent's record, and writes, in the transaction that binds the agent to its key */
  set?: Partial<AgentItem>;
  writes?: readonly Write[];
}

/** An agent as it was read. */
interface Candidate extends Application {
  records: AgentRecords;
  decisions: IssueDecision[];
}

export type AgentBinder = ReturnType<typeof openAgentBinder>;

/** Attempts fail only if the agent has changed in the meantime. */
const maxAttempts = 5;

/** Binds agents to their keys when PATs are issued. Nothing here writes to the registry. */
export function openAgentBinder(table: Table, checks: readonly IssueCheck[] = []) {
  /** Reads the records that a PAT request depends on, in one round trip. */
  async function read(application: Application): Promise<Candidate> {
    const core = agentRecordKeys(application.agentId, application.thumbprint);
    const ofChecks = checks.map((check) => check.recordKeys(application));
    const items = await table.getAll<Item>([...core, ...ofChecks.flat()]);
    const records = toAgentRecords(items.splice(0, core.length));
    const decisions = checks.map((check, at) => check.decide(application, records, items.splice(0, ofChecks[at]?.length)));
    return { ...application, records, decisions };
  }

  /**
   * Finds the agent of an id and a key. If ids may be shared, a key that uses another key's id is a separate agent.
   * @throws ApiError POLICY_REJECTED if the agent may not get a PAT, INVALID_SIGNATURE if a proof is missing
   */
  async function find(application: Application, isSharingAllowed: boolean): Promise<Candidate> {
    const { agentId, thumbprint, hasProof } = application;
    const candidate = await read(application);
    const { agent, key } = candidate.records;
    if (isBlocked(candidate.records)) throw agentBlocked('POLICY_REJECTED');
    if (isOfOther(agent, thumbprint)) {
      if (isSharingAllowed) return find({ ...application, agentId: sharedIdOf(agentId, thumbprint) }, false);
      throw agentIdTaken();
    }
    if (!hasProof && (agent?.proof || key?.proof)) throw proofMissing();
    for (const { refusal } of candidate.decisions) if (refusal && !refusal.record) throw refusal.error;
    return candidate;
  }

  /**
   * Binds the id to the key in one transaction or, if it is bound already, records the issue of another PAT in one update.
   * @returns undefined if the id belongs to another key, is blocked, refused or needs a proof, or has changed since it was read
   */
  async function bind({ agentId, thumbprint, nowMs, hasProof, domain, records, decisions }: Candidate): Promise<BoundAgent | undefined> {
    const { agent, key } = records;
    const isOther = isOfOther(agent, thumbprint);
    if (agent?.block !== undefined || isOther || decisions.some(({ refusal }) => refusal)) return undefined;
    const { expires_at, listed_until } = lifeFrom(nowMs);
    const issued = { last_issue: nowMs, expires_at, ...(hasProof && { proof: true as const }), ...(domain !== undefined && { domain }) };
    const withoutDomain = domain === undefined ? ['domain'] : [];
    const isListed = agent?.thumbprint === thumbprint && (agent.listed_until ?? 0) >= expires_at;
    if (isListed && !(hasProof && lacksProof(key, nowMs))) {
      const renewed = await table.update<BoundAgent>(keys.agent(agentId), {
        set: issued,
        remove: withoutDomain,
        setOnce: { first_seen: nowMs },
        when: [['absent', 'block'], ['=', 'thumbprint', thumbprint], ...(hasProof ? [] : [['absent', 'proof'] as const])],
      });
      return renewed || undefined;
    }
    if (!hasProof && agent?.proof) return undefined;
    const { agent_id = agentId, generation = newUlid(), first_seen = nowMs } = agent ?? {};
    const own = Object.assign({}, ...decisions.map(({ set }) => set));
    const bound = { agent_id, thumbprint, generation, first_seen, listed_until, ...issued, ...own };
    const proof = { proof: true, expires_at };
    const outcome = await table.transact([
      { update: keys.agent(agentId), set: bound, remove: withoutDomain, when: isAgentUnchanged(agent) },
      ...listActive(agent_id, thumbprint, listed_until),
      hasProof
        ? { update: keys.agentKey(thumbprint), set: proof, when: [['absent', 'blocked_by']] }
        : {
            check: keys.agentKey(thumbprint),
            when: [
              ['absent', 'blocked_by'],
              ['absent', 'proof'],
            ],
          },
      ...decisions.flatMap(({ writes = [] }) => writes),
    ]);
    return outcome === true ? { ...keys.agent(agentId), ...agent, ...bound } : undefined;
  }

  return {
    read,
    find,
    bind,

    /** Binds the agent that was found, or refuses it as a feature demands. */
    async admit(application: Application, found: Candidate, isSharingAllowed: boolean): Promise<BoundAgent> {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const candidate = attempt === 0 ? found : await find(application, isSharingAllowed);
        for (const { refusal } of candidate.decisions) {
          await refusal?.record?.();
          if (refusal) throw refusal.error;
        }
        const bound = await bind(candidate);
        if (bound) return bound;
      }
      throw unavailable('Several requests are changing this agent at the same time. Try again after Retry-After.');
    },
  };
}

const isOfOther = (agent: AgentItem | undefined, thumbprint: string): boolean =>
  agent?.thumbprint !== undefined && agent.thumbprint !== thumbprint;

/** Whether the key's record must be written to require proofs from now on. */
const lacksProof = (key: AgentKeyItem | undefined, nowMs: number): boolean =>
  !key?.proof || (key.expires_at ?? 0) <= nowMs / 1000 + agentLifeSeconds / 2;

const agentIdTaken = () =>
  new ApiError('POLICY_REJECTED', 'The agent_id belongs to another key. Sign with that key, or choose another agent_id.', {
    details: { reason: 'agent_id_bound' },
  });

const proofMissing = () =>
  invalidSignature(
    'A PAT with proof of possession has been issued to this agent or its key, so every later request needs a proof, too. Send a DPoP header (RFC 9449) made with agent_public_key.',
  );
