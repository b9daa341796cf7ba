import type { RecordedExecution } from '../../schemas/executions.ts';
import { foldName } from '../../schemas/text.ts';
import type { PolicyTrial, TrialRow } from '../../schemas/trial/policy-trial.ts';
import { isWithin } from '../core/json/json.ts';
import { countExecution } from '../core/limit/limit-request.ts';
import { bucketAt } from '../core/limit/window.ts';
import { chargesOf, rulesRequiringApproval } from '../core/policy/judge.ts';
import { type Charge, isRate } from '../core/policy/limits.ts';
import { describePointer } from '../core/policy/name-rules.ts';
import type { Rule } from '../core/policy/reading.ts';
import { addBetween, type Bounds, rollBounds } from './bounds.ts';
import { type Doubt, judgeRecorded, type RecordedCall, readVerdict, type TrialPolicy, type Verdict } from './trial.ts';

/** The outcome of a replayed call; `pointer` is a JSON pointer to the rule that decides. */
type ReplayOutcome = { is: 'permitted' } | { is: 'refused' | 'waiting'; pointer: string } | ({ is: 'unknown' } & Doubt);

export interface ReplayOptions {
  trial: TrialPolicy;
  /** the policy in force, to explain its refusals */
  inForce?: { digest: string; rules: readonly Rule[] } | undefined;
  /** the name of a service, for conditions that compare it */
  serviceName?: (serviceId: string) => string | undefined;
}

/** Reasons of refusals by the policy. Refusals by limits of calls have no reason. */
const policyReasons = ['not_permitted', 'prohibited', 'condition', 'count', 'budget'];

interface CallFacts extends Required<Pick<ReplayOptions, 'serviceName'>> {
  intentUid: string;
  nowMs: number;
}

function toCall(record: RecordedExecution, { serviceName, ...facts }: CallFacts): RecordedCall {
  const { service_id, method, tags, holder, account = holder, agent_id: agentId, agent_domain: agentDomain } = record;
  const service = service_id === undefined ? undefined : { service_id, service_name: serviceName(service_id) };
  return { ...facts, method, tags, service, account, agentId, agentDomain };
}

/**
 * Counts the calls that each rule of a policy applies to: those that were made, and for a prohibition those that it refused.
 * @param add - gets the JSON pointer to a rule once for each call; `isSure` is false if the rule depends on facts that were not recorded
 */
export function countUses(
  { digest, rules }: TrialPolicy,
  executions: readonly RecordedExecution[],
  serviceName: CallFacts['serviceName'],
  add: (pointer: string, isSure: boolean) => void,
): void {
  for (const record of executions) {
    const { intent_uid: intentUid, started_at, sent, policy_digest, rule: refusedBy } = record;
    if (intentUid === undefined || started_at === undefined) continue;
    if (sent) {
      const verdict = judgeRecorded(rules, toCall(record, { intentUid, nowMs: Date.parse(started_at), serviceName }));
      if (!verdict.isRefused) for (const rule of verdict.possible) add(rule.pointer, verdict.sure.includes(rule));
    } else if (refusedBy !== undefined && policy_digest === digest) {
      const refusing = rules.find(({ kind, pointer }) => kind === 'prohibition' && isWithin(refusedBy, pointer));
      if (refusing) add(refusing.pointer, true);
    }
  }
}

/** Whether the policy in force refused the call. A service's own limit does not name a rule. */
const isRefusedByPolicy = ({ outcome, reason, rule }: RecordedExecution): boolean =>
  (outcome === 'FORBIDDEN' && policyReasons.includes(reason ?? '')) || (outcome === 'TOO_MANY_REQUESTS' && rule !== undefined);

/** Whether the policy in force permitted the call: it was made, or got the answer of an earlier request under its key. */
const hasPassed = ({ outcome, sent, is_replayed }: RecordedExecution): boolean =>
  outcome === 'OK' || sent !== undefined || Boolean(is_replayed);

/**
 * Replays recorded calls under another policy, as if it had come into force with the first of them, with the gate's own judgement and windows. A
 * call that was recorded incompletely is judged as far as possible; see {@link Bounds} for how it counts. Calls that failed for reasons other than
 * the policy are skipped, and so are charges of calls that wait for approval, or whose agent's key was not recorded.
 */
export function openReplay({ trial: { digest, rules }, inForce, serviceName = () => undefined }: ReplayOptions) {
  const windows = new Map<string, Bounds>();
  /** by idempotency key: whether the call would have been made (undefined: unknown), and whether it was made */
  const keyed = new Map<string, { isMade: boolean | undefined; wasMade: boolean }>();
  const found = { refused: new Map<string, TrialRow>(), permitted: new Map<string, TrialRow>(), waiting: new Map<string, TrialRow>() };
  const unknown = new Map<string, { rule: string; words: string; because: string; calls: number; intents: Set<string> }>();
  let calls = 0;

  const verdictOf = (record: RecordedExecution, intentUid: string, nowMs: number): Verdict =>
    record.trial?.policy === digest
      ? readVerdict(rules, record.trial)
      : judgeRecorded(rules, toCall(record, { intentUid, nowMs, serviceName }));

  /**
   * Counts a call in the windows of its limits, or in none of them if one is exhausted. If several limits may be exhausted, any of them may have
   * refused the call, so it is sure to count towards none.
   */
  function count(record: RecordedExecution, verdict: Verdict & { isRefused: false }, nowMs: number): ReplayOutcome {
    const { holder, account = holder, sent } = record;
    const possible = chargesOf(verdict.possible);
    if (possible.length === 0) return permittedUnless(verdict.missing);
    if (holder === undefined || account === undefined)
      return permittedUnless({ because: 'the key of the agent was not recorded', pointer: possible[0]?.rule ?? '' });
    const chargesBy = (all: Charge[]) => countExecution({ principal: holder, account }, all).charges;
    const sureCosts = new Map(chargesBy(chargesOf(verdict.sure)).map(({ id, cost }) => [id, cost]));
    const states = chargesBy(possible).map((charge) => {
      const key = `${holder} ${charge.id}`;
      return { key, charge, sureCost: sureCosts.get(charge.id) ?? 0, bounds: rollBounds(windows.get(key), bucketAt(nowMs, charge.period)) };
    });
    const exceeded = states.find(({ bounds, sureCost, charge }) => sureCost > 0 && bounds.sure.total + sureCost > charge.rate);
    if (exceeded) return { is: 'refused', pointer: exceeded.charge.rule ?? '' };
    const doubtful = states.filter(({ bounds, charge }) => bounds.possible.total + charge.cost > charge.rate);
    const doubt = doubtful[0] && { because: 'the limit may have been used up', pointer: doubtful[0].charge.rule ?? '' };
    for (const state of states) {
      const { key, charge, bounds, sureCost } = state;
      if (sent === false && !isRate(charge)) continue;
      const isSure = verdict.missing === undefined && isValidated(record) && doubtful.every((one) => one === state);
      windows.set(key, addBetween(bounds, charge, isSure ? sureCost : 0, doubt !== undefined));
    }
    return permittedUnless(verdict.missing ?? doubt);
  }

  /** Whether the parameters have been validated: the gate refuses a forbidden intent before it validates them. */
  const isValidated = ({ trial, reason = '' }: RecordedExecution): boolean =>
    trial?.policy === digest || !['not_permitted', 'prohibited'].includes(reason);

  /** Whether a permitted call would have got the answer of an earlier one under its key; undefined if that is unknown. */
  function isRepeated({ call_key, is_replayed, sent }: RecordedExecution): boolean | undefined {
    const earlier = call_key === undefined ? undefined : keyed.get(call_key);
    if (!earlier) return is_replayed === true;
    return is_replayed || sent === undefined || !earlier.wasMade ? earlier.isMade : false;
  }

  function decide(record: RecordedExecution, intentUid: string, nowMs: number): ReplayOutcome {
    const verdict = verdictOf(record, intentUid, nowMs);
    if (verdict.isRefused) return { is: 'refused', pointer: verdict.pointer };
    const repeats = isRepeated(record);
    if (repeats) return permittedUnless(verdict.missing);
    const [{ pointer } = { pointer: '' }] = verdict.possible;
    if (repeats === undefined) verdict.missing ??= { because: 'an earlier request under its key could not be decided', pointer };
    const needsApproval = record.is_deferred ? () => [] : rulesRequiringApproval;
    const [approval] = needsApproval(verdict.sure);
    if (approval) return verdict.missing ? permittedUnless(verdict.missing) : { is: 'waiting', pointer: approval.pointer };
    for (const { pointer } of needsApproval(verdict.possible))
      verdict.missing ??= { because: 'the parameters that an approval depends on were not recorded', pointer };
    const outcome = count(record, verdict, nowMs);
    // an exhausted limit does not refuse a repeated request
    return repeats === undefined ? permittedUnless(verdict.missing) : outcome;
  }

  /** Why the policy in force refused a call, in words. */
  const describePast = ({ outcome, rule, policy_digest }: RecordedExecution): string =>
    inForce !== undefined && rule !== undefined && policy_digest === inForce.digest
      ? describePointer(inForce.rules, rule)
      : `The policy in force at that time refused it (${outcome}).`;

  return {
    /** @param record - must not have begun before the previous ones */
    add(record: RecordedExecution & { started_at: string }): ReplayOutcome | undefined {
      calls++;
      const { intent_uid, call_key } = record;
      const wasRefused = isRefusedByPolicy(record);
      const isInvalid = record.trial?.policy === digest && record.trial.invalid;
      if (intent_uid === undefined || isInvalid || !(wasRefused || hasPassed(record))) return undefined;
      const nowMs = Date.parse(record.started_at);
      const outcome = decide(record, intent_uid, nowMs);
      if (call_key !== undefined && record.sent !== false) {
        const { isMade, wasMade } = keyed.get(call_key) ?? { isMade: false, wasMade: false };
        keyed.set(call_key, {
          isMade: outcome.is === 'permitted' || (outcome.is === 'unknown' && !isMade ? undefined : isMade),
          wasMade: record.sent === true || wasMade,
        });
      }
      const addRow = (rows: Map<string, TrialRow>, rule: string, words: string): void => {
        const { agent_id } = record;
        const key = JSON.stringify([rule, words, foldName(agent_id), intent_uid]);
        const last = new Date(nowMs).toISOString();
        const row = rows.get(key) ?? { rule, words, agent_id, intent_uid, calls: 0, first: last, last };
        rows.set(key, { ...row, calls: row.calls + 1, last });
      };
      if (outcome.is === 'unknown') {
        const { pointer: rule, because } = outcome;
        const key = JSON.stringify([rule, because]);
        const row = unknown.get(key) ?? { rule, words: describePointer(rules, rule), because, calls: 0, intents: new Set() };
        unknown.set(key, { ...row, calls: row.calls + 1, intents: row.intents.add(intent_uid) });
      } else if (outcome.is === 'waiting') addRow(found.waiting, outcome.pointer, describePointer(rules, outcome.pointer));
      else if (outcome.is === 'refused' && !wasRefused) addRow(found.refused, outcome.pointer, describePointer(rules, outcome.pointer));
      else if (outcome.is === 'permitted' && wasRefused) addRow(found.permitted, record.rule ?? '', describePast(record));
      return outcome;
    },

    /** @param hours - the starts of the hours that have records, in milliseconds since the epoch */
    report(sinceMs: number, untilMs: number, hours: ReadonlySet<number>): PolicyTrial {
      const list = <T extends { calls: number }>(rows: Map<string, T>) => [...rows.values()].sort((one, other) => other.calls - one.calls);
      return {
        since: new Date(sinceMs).toISOString(),
        until: new Date(untilMs).toISOString(),
        calls,
        would_refuse: list(found.refused),
        would_permit: list(found.permitted),
        would_wait: list(found.waiting),
        unknown: list(unknown).map(({ intents, ...row }) => ({ ...row, intents: intents.size, intent_uids: [...intents].slice(0, 10) })),
        gaps: findGaps(sinceMs, untilMs, hours),
      };
    },
  };
}

const permittedUnless = (doubt: Doubt | undefined): ReplayOutcome => (doubt ? { is: 'unknown', ...doubt } : { is: 'permitted' });

/** The intents of calls that could not be decided, in words. */
export const nameIntents = ({ intents, intent_uids }: PolicyTrial['unknown'][number]): string =>
  `${intent_uids.join(', ')}${intents > intent_uids.length ? ` and ${intents - intent_uids.length} more` : ''}`;

const hourMs = 3_600_000;

/** The periods of whole hours without a record. */
function findGaps(sinceMs: number, untilMs: number, hours: ReadonlySet<number>): PolicyTrial['gaps'] {
  const gaps: { fromMs: number; toMs: number }[] = [];
  for (let hour = Math.floor(sinceMs / hourMs) * hourMs; hour < untilMs; hour += hourMs) {
    if (hours.has(hour)) continue;
    const last = gaps.at(-1);
    if (last?.toMs === hour) last.toMs += hourMs;
    else gaps.push({ fromMs: hour, toMs: hour + hourMs });
  }
  return gaps.map(({ fromMs, toMs }) => ({
    from: new Date(Math.max(fromMs, sinceMs)).toISOString(),
    to: new Date(Math.min(toMs, untilMs)).toISOString(),
  }));
}

/**
 * Reports what a policy would have done to recorded executions, in the order of their start.
 * @param sinceMs - since when `executions` are complete, in milliseconds since the epoch
 */
export function replay(executions: readonly RecordedExecution[], options: ReplayOptions, sinceMs: number, untilMs: number): PolicyTrial {
  const { add, report } = openReplay(options);
  const dated = executions.flatMap((one) => (one.started_at === undefined ? [] : [{ ...one, started_at: one.started_at }]));
  const orderOf = (one: string, other: string) => (one < other ? -1 : Number(one > other));
  dated.sort((one, other) => orderOf(one.started_at, other.started_at) || orderOf(one.execution_id, other.execution_id));
  for (const one of dated) add(one);
  return report(sinceMs, untilMs, new Set(dated.map(({ started_at }) => Math.floor(Date.parse(started_at) / hourMs) * hourMs)));
}
