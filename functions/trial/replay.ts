import type { PolicyTrial, RecordedExecution, TrialRow } from '../../schemas/executions.ts';
import { foldName } from '../../schemas/text.ts';
import { countExecution } from '../core/limit/limit-request.ts';
import { addCall, bucketAt, emptyWindow, rollTo, type Window } from '../core/limit/window.ts';
import { describePointer } from '../core/policy/describe.ts';
import { chargesOf, rulesRequiringApproval } from '../core/policy/judge.ts';
import { type Charge, isRate } from '../core/policy/limits.ts';
import type { Rule } from '../core/policy/reading.ts';
import { judgeRecorded, readVerdict, type TrialPolicy, type Verdict } from './trial.ts';

/** The outcome of a replayed call; `pointer` is a JSON pointer to the rule that decides. */
type ReplayOutcome = { is: 'permitted' } | { is: 'refused' | 'waiting'; pointer: string } | { is: 'unknown'; because: string };

export interface ReplayOptions {
  trial: TrialPolicy;
  /** the policy in force, to explain its refusals */
  inForce?: { digest: string; rules: readonly Rule[] } | undefined;
  /** the name of a service, for conditions that compare it */
  serviceName?: (serviceId: string) => string | undefined;
}

/** Reasons of refusals by the policy. Refusals by limits of calls have no reason. */
const policyReasons = ['not_permitted', 'prohibited', 'condition', 'count', 'budget'];

/** Whether the policy in force refused the call. A service's own limit does not name a rule. */
const isRefusedByPolicy = ({ outcome, reason, rule }: RecordedExecution): boolean =>
  (outcome === 'FORBIDDEN' && policyReasons.includes(reason ?? '')) || (outcome === 'TOO_MANY_REQUESTS' && rule !== undefined);

/** Whether the policy in force permitted the call: it was made, or got the answer of an earlier request under its key. */
const hasPassed = ({ outcome, sent, is_replayed }: RecordedExecution): boolean =>
  outcome === 'OK' || sent !== undefined || Boolean(is_replayed);

/** Lower and upper bounds of a limit's count, because the outcome of some calls is unknown. */
interface Bounds {
  sure: Window;
  possible: Window;
}

/**
 * Replays recorded calls under another policy, as if it had come into force with the first of them, with the gate's own judgement and windows. A
 * call that was recorded incompletely is judged as far as possible, and counts towards the upper bounds only. Calls that failed for reasons other
 * than the policy are skipped.
 */
export function openReplay({ trial: { digest, rules }, inForce, serviceName = () => undefined }: ReplayOptions) {
  const windows = new Map<string, Bounds>();
  /** by idempotency key: whether the call would have been made (undefined: unknown), and whether it was made */
  const keyed = new Map<string, { isMade: boolean | undefined; wasMade: boolean }>();
  const found = { refused: new Map<string, TrialRow>(), permitted: new Map<string, TrialRow>(), waiting: new Map<string, TrialRow>() };
  const unknown = new Map<string, number>();
  let calls = 0;

  function verdictOf(record: RecordedExecution, intentUid: string, nowMs: number): Verdict {
    if (record.trial?.policy === digest) return readVerdict(rules, record.trial);
    const { service_id, method, tags, holder, account = holder, agent_id: agentId, agent_domain: agentDomain } = record;
    const service = service_id === undefined ? undefined : { service_id, service_name: serviceName(service_id) };
    return judgeRecorded(rules, { intentUid, method, tags, service, account, agentId, agentDomain, nowMs });
  }

  /** Counts a call in the windows of its limits, or in none of them if one is exhausted. */
  function count(record: RecordedExecution, verdict: Verdict & { isRefused: false }, nowMs: number): ReplayOutcome {
    const { holder, account = holder, sent } = record;
    const possible = chargesOf(verdict.possible);
    if (possible.length === 0) return permittedUnlessMissing(verdict.missing);
    if (holder === undefined || account === undefined) return permittedUnlessMissing('key of the agent');
    const chargesBy = (all: Charge[]) => countExecution({ principal: holder, account }, all).charges;
    const sureCharges = new Map(chargesBy(chargesOf(verdict.sure)).map((charge) => [charge.id, charge]));
    const states = chargesBy(possible).map((charge) => {
      const key = `${holder} ${charge.id}`;
      const bucket = bucketAt(nowMs, charge.period);
      const { sure, possible } = windows.get(key) ?? { sure: emptyWindow(bucket), possible: emptyWindow(bucket) };
      return { key, charge, sure: rollTo(sure, bucket), possible: rollTo(possible, bucket), sureCharge: sureCharges.get(charge.id) };
    });
    const exceeded = states.find(({ sure, sureCharge }) => sureCharge && sure.total + sureCharge.cost > sureCharge.rate);
    if (exceeded) return { is: 'refused', pointer: exceeded.charge.rule ?? '' };
    const doubtful = states.find(({ possible, charge }) => possible.total + charge.cost > charge.rate);
    const outcome = permittedUnlessMissing(verdict.missing ?? (doubtful && `number of calls that count towards ${doubtful.charge.name}`));
    for (const { key, charge, sure, possible, sureCharge } of states) {
      if (sent === false && !isRate(charge)) continue;
      const isSure = outcome.is === 'permitted' && isValidated(record) && sureCharge !== undefined;
      windows.set(key, { sure: isSure ? addCall(sure, sureCharge.cost) : sure, possible: addCall(possible, charge.cost) });
    }
    return outcome;
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
    if (repeats) return permittedUnlessMissing(verdict.missing);
    if (repeats === undefined) verdict.missing ??= 'outcome of an earlier request under its key';
    const [approval] = rulesRequiringApproval(verdict.possible);
    if (approval && !record.is_deferred) {
      if (verdict.missing !== undefined) return permittedUnlessMissing(verdict.missing);
      return verdict.sure.includes(approval)
        ? { is: 'waiting', pointer: approval.pointer }
        : permittedUnlessMissing('parameters that an approval depends on');
    }
    return count(record, verdict, nowMs);
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
        const { isMade = false, wasMade = false } = keyed.get(call_key) ?? {};
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
      if (outcome.is === 'unknown') unknown.set(outcome.because, (unknown.get(outcome.because) ?? 0) + 1);
      else if (outcome.is === 'waiting') addRow(found.waiting, outcome.pointer, describePointer(rules, outcome.pointer));
      else if (outcome.is === 'refused' && !wasRefused) addRow(found.refused, outcome.pointer, describePointer(rules, outcome.pointer));
      else if (outcome.is === 'permitted' && wasRefused) addRow(found.permitted, record.rule ?? '', describePast(record));
      return outcome;
    },

    /** @param hours - the starts of the hours that have records, in milliseconds since the epoch */
    report(sinceMs: number, untilMs: number, hours: ReadonlySet<number>): PolicyTrial {
      const list = (rows: Map<string, TrialRow>) => [...rows.values()].sort((one, other) => other.calls - one.calls);
      return {
        since: new Date(sinceMs).toISOString(),
        until: new Date(untilMs).toISOString(),
        calls,
        would_refuse: list(found.refused),
        would_permit: list(found.permitted),
        would_wait: list(found.waiting),
        unknown: [...unknown].map(([what, calls]) => ({ calls, because: `the ${what} was not recorded` })),
        gaps: findGaps(sinceMs, untilMs, hours),
      };
    },
  };
}

const permittedUnlessMissing = (missing: string | undefined): ReplayOutcome =>
  missing === undefined ? { is: 'permitted' } : { is: 'unknown', because: missing };

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
