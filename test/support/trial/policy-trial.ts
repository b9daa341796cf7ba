import assert from 'node:assert/strict';
import { judgedAgent } from '../../../functions/core/pat/holder.ts';
import { type CurrentPolicy, policyFor } from '../../../functions/core/policy/policy.ts';
import type { Rule } from '../../../functions/core/policy/reading.ts';
import { type PolicyTemplate, parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { openIntents } from '../../../functions/core/registry/intents.ts';
import { openServices } from '../../../functions/core/registry/services.ts';
import { CallFailed } from '../../../functions/core/relay/call-failure.ts';
import { log } from '../../../functions/core/runtime/log.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import { readTrial } from '../../../functions/trial/read-trial.ts';
import { openReplay, replay } from '../../../functions/trial/replay.ts';
import { type FindTrial, openTrialObserver } from '../../../functions/trial/trial-verdict.ts';
import { type RecordedExecution, recordedExecution } from '../../../schemas/executions.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { openMemoryTable } from '../../world/memory-table.ts';
import { answerFrom, openExecuteOver } from '../actions.ts';
import { execute } from '../gate.ts';
import { openPolicy } from '../policy.ts';
import { chooseWith } from '../random.ts';
import { intentOf, serviceNamed } from '../records.ts';

const baseUrl = 'https://api.example/test';
const intents = '{base_url}/api/intents';
const startMs = Date.parse('2026-03-01T00:00:00Z');
const dayMs = 86_400_000;

const uids = ['pay.example:refund:v1', 'pay.example:transfer:v1', 'world.example:look:v1'] as const;
const people = 6;

/** What happens to a call that the policy permits. */
type Upstream = 'live' | 'dead' | 'lost' | 'failing';

export interface TrialCall {
  atMs: number;
  agent: number;
  uid: string;
  parameters: Record<string, unknown>;
  key?: string | undefined;
  upstream: Upstream;
}

const target = (uid?: string) => (uid === undefined ? intents : `${intents}/${uid}`);
const when = (leftOperand: string, operator: string, rightOperand: unknown, unit?: string) => ({
  leftOperand: leftOperand.includes('/') ? `{base_url}/api/intents/${leftOperand}` : leftOperand,
  operator,
  rightOperand,
  ...(unit !== undefined && { unit }),
});
const rate = (most: number, unit: string) => when('rateLimit', 'lteq', most, unit);
const budget = (price: number, most: number, name?: string) => ({
  action: 'pay',
  amount: { price, budget: most },
  unit: 'v:EUR',
  timeInterval: 'P1D',
  ...(name !== undefined && { target: `{base_url}/budgets/${name}` }),
});
const keyOf = (agent: number) => `${agent}`.padStart(43, 'k');

const rule = (uid: string | undefined, constraint: object[] = [], more: object = {}) => ({
  target: target(uid),
  action: 'execute',
  ...(constraint.length > 0 && { constraint }),
  ...more,
});
const term = (name: string, operator: string, value: unknown) => when(`{base_url}/vocabulary/${name}`, operator, value);
const inBerlin = (operator: string, time: string) => when('timeOfDay', operator, time, 'tz#Europe/Berlin');
const [refund, transfer, look] = uids;

/** Rules for random policies; the first permission is in all of them. */
const permissions = [
  rule(look),
  rule(undefined, [rate(7, 'hour')]),
  rule(refund, [when(`${refund}/parameters/amount`, 'lt', 500), rate(3, 'day')]),
  rule(undefined, [when('count', 'lteq', 60)], { target: `${intents}?namespace=pay.example`, duty: [budget(2, 20, 'daily')] }),
  rule(transfer, [inBerlin('gteq', '09:00'), inBerlin('lt', '17:00')], { duty: [budget(0.5, 20, 'daily')] }),
  rule(undefined, [term('method', 'eq', 'GET'), rate(2, 'minute')]),
  rule(undefined, [term('tag', 'within', ['money', 'refund']), when('dateTime', 'lt', '2026-03-05T00:00:00Z')], { duty: [budget(1, 9)] }),
  rule(undefined, [when('agentKey', 'within', [keyOf(1), keyOf(2)]), rate(40, 'week')]),
  rule(undefined, [rate(3, 'hour')], { assignee: 'https://bot.example' }),
  rule(transfer, [rate(2, 'day')], { assignee: 'Agent-3' }),
  rule(undefined, [rate(30, 'day')], { assignee: keyOf(2) }),
];
const prohibitions = [
  rule(undefined, [when('dayOfWeek', 'within', ['saturday', 'sunday'])]),
  rule(refund, [when(`${refund}/parameters/amount`, 'gteq', 900), when(`${refund}/parameters/currency`, 'neq', 'EUR')]),
  rule(transfer),
  rule(undefined, [term('service', 'eq', 'Payments'), when('agentKey', 'eq', keyOf(3))]),
  rule(undefined, [when('agentKey', 'neq', keyOf(4)), when('rateLimit', 'gt', 12, 'day')]),
  rule(refund, [], { assignee: 'bot.example' }),
  rule(undefined, [term('agentDomain', 'neq', 'bot.example'), inBerlin('lt', '03:00')]),
];

/** A valid policy with some of these rules. */
export function randomPolicy(random: () => number): PolicyTemplate {
  for (;;) {
    const some = <T>(all: readonly T[], share: number) => all.filter(() => random() < share);
    const policy = {
      '@context': 'http://www.w3.org/ns/odrl.jsonld',
      uid: '{base_url}/api/policy',
      type: 'Set',
      permission: [...permissions.slice(0, 1), ...some(permissions.slice(1), 0.4)],
      prohibition: some(prohibitions, 0.25),
    };
    try {
      const template = parsePolicyTemplate(JSON.stringify(policy).replaceAll('{base_url}/api/intents/{base_url}', '{base_url}'));
      readTrial(template, baseUrl);
      return template;
    } catch (error) {
      if ((error as Error).name !== 'PolicyError') throw error;
    }
  }
}

/** Calls of a week, most of them in bursts. */
export function randomCalls(count: number, random: () => number): TrialCall[] {
  const { pick } = chooseWith(random);
  let atMs = startMs;
  return Array.from({ length: count }, () => {
    atMs += 1 + Math.floor(random() < 0.7 ? random() * 4_000 : (random() * 2 * 7 * dayMs) / count / 0.3);
    const agent = Math.floor(random() * people);
    const upstream: Upstream = random() < 0.85 ? 'live' : pick(['dead', 'lost', 'failing']);
    const uid = pick(uids);
    const parameters = {
      amount: random() < 0.03 ? 'much' : Math.floor(random() * 1_200),
      ...(random() < 0.5 && { currency: pick(['EUR', 'USD']) }),
    };
    // a key belongs to one request
    const keyed = Math.floor(random() * 4);
    if (random() < 0.8) return { atMs, agent, uid, parameters, upstream };
    return {
      atMs,
      agent,
      uid: uids[keyed % 3] ?? uid,
      parameters: { amount: keyed * 300 },
      key: `k${keyed}-${agent}-${Math.floor((atMs - startMs) / (dayMs / 2))}`,
      upstream,
    };
  });
}

/** Agents with keys, the first two of which are verified for a domain, and a person with two clients. */
function claimsOf(agent: number, reference: string, scope: string[]): PatClaims {
  const dates = { iat: 0, nbf: 0, exp: 2 ** 40 };
  const common = { iss: baseUrl, sub: `agent-${agent}`, aud: baseUrl, ...dates, jti: 'j', scope, pol: reference, gen: '0' };
  if (agent < people - 2) return { ...common, cnf: { jkt: keyOf(agent) }, ...(agent < 2 && { agent_domain: 'bot.example' }) };
  return { ...common, person: `person.${'p'.repeat(43)}`, client_id: `client-${agent}` };
}

export interface TrialRun {
  refusedBy: ('policy' | 'other' | undefined)[];
  lines: RecordedExecution[];
  serviceNames: Map<string, string>;
}

/** Executes calls through the gate's endpoint, over a new table, at the times that they state. */
export async function runCalls(calls: readonly TrialCall[], template: PolicyTemplate, tried?: PolicyTemplate): Promise<TrialRun> {
  const table = openMemoryTable();
  const { service_id } = await openServices(table).create(serviceNamed('Payments'));
  const { service_id: other } = await openServices(table).create(serviceNamed('World'));
  const numbers = [
    { name: 'amount', type: 'number' as const },
    { name: 'currency', type: 'string' as const },
  ];
  for (const [at, uid] of uids.entries()) {
    const method = at === 2 ? ('GET' as const) : ('POST' as const);
    const endpoint = { url: 'https://up.example/do', method, content_type: 'application/json' };
    await openIntents(table).create(
      at === 2 ? other : service_id,
      intentOf(uid, { endpoint, input_parameters: numbers, tags: at === 0 ? ['refund', 'money'] : [] }),
    );
  }
  for (let agent = 0; agent < people; agent++)
    await table.put({ ...keys.agent(`agent-${agent}`), agent_id: `agent-${agent}`, generation: '0' });
  const findPolicy = openPolicy(template);
  let current = calls[0] as TrialCall;
  const now = () => current.atMs;
  const connect = async () => {
    const { upstream } = current;
    if (upstream === 'dead') throw new CallFailed('unreachable');
    const send = async () => {
      if (upstream === 'lost') throw new CallFailed('lost');
      if (upstream === 'failing') throw new CallFailed('broken_answer');
      return answerFrom('https://up.example/');
    };
    return { send, drop: () => {} };
  };
  const action = openExecuteOver(table, {
    authenticate: async () => {
      const claimsUnder = ({ reference, compiled }: CurrentPolicy) => claimsOf(current.agent, reference, compiled.scope);
      const policy = policyFor(findPolicy(baseUrl), judgedAgent(claimsUnder(findPolicy(baseUrl))));
      return { claims: claimsUnder(policy), policy, proof: undefined };
    },
    relay: { connect },
    observers: [openTrialObserver(trialOf(tried))],
    now,
  });
  const run: TrialRun = {
    refusedBy: [],
    lines: [],
    serviceNames: new Map([
      [service_id, 'Payments'],
      [other, 'World'],
    ]),
  };
  const { info } = log;
  log.info = (message, line) => void (message === 'executed' && run.lines.push(recordedExecution.parse(line)));
  try {
    for (const call of calls) {
      current = call;
      const headers = call.key === undefined ? undefined : { 'Idempotency-Key': call.key };
      const { status, body } = await execute(action, 'pat', call.uid, call.parameters, headers);
      const { reason, rule } = body.error?.details ?? {};
      const isPolicy = (status === 403 && reason !== undefined) || (status === 429 && rule !== undefined);
      run.refusedBy.push(status === 200 ? undefined : isPolicy ? 'policy' : 'other');
    }
  } finally {
    log.info = info;
  }
  assert.equal(run.lines.length, calls.length);
  return run;
}

/** The policy on trial, without a table. */
export const trialOf =
  (template: PolicyTemplate | undefined): FindTrial =>
  async (_, address) =>
    template && readTrial(template, address);

/** Counts of what was compared, to notice a run that compares nothing. */
export interface TrialFindings {
  refused: number;
  permitted: number;
  limited: number;
  unknown: number;
}

/**
 * Records calls under one policy, predicts what another one would do to them, and runs the gate under that one.
 * @throws AssertionError if a prediction is wrong
 */
export async function tryPolicies(calls: readonly TrialCall[], before: PolicyTemplate, after: PolicyTemplate): Promise<TrialFindings> {
  const past = await runCalls(calls, before, after);
  // calls that were refused or replayed were not sent; they are assumed to succeed
  const again = calls.map((call, at) =>
    past.lines[at]?.sent === undefined && past.refusedBy[at] !== 'other' ? { ...call, upstream: 'live' as const } : call,
  );
  const real = await runCalls(again, after);
  const trial = readTrial(after, baseUrl);
  const serviceName = (id: string) => past.serviceNames.get(id);
  const findings = { refused: 0, permitted: 0, limited: 0, unknown: 0 };
  for (const isJudged of [true, false]) {
    const lines = past.lines.map(({ trial, ...line }) => ({
      ...line,
      started_at: line.started_at ?? '',
      ...(isJudged && trial && { trial }),
    }));
    const replayed = openReplay({ trial, serviceName });
    const expected = { refuse: 0, permit: 0 };
    for (const [at, line] of lines.entries()) {
      const fate = replayed.add(line);
      if (!fate) continue;
      const isRefused = real.refusedBy[at] === 'policy';
      if (fate.is === 'refused' && past.refusedBy[at] !== 'policy') expected.refuse++;
      if (fate.is === 'permitted' && past.refusedBy[at] === 'policy') expected.permit++;
      // for a refused call, only the verdict records whether its parameters were valid
      if (!isJudged && real.lines[at]?.outcome === 'INVALID_PARAMETER') continue;
      if (fate.is === 'unknown') findings.unknown++;
      else {
        const shown = JSON.stringify({ call: calls[at], line, fate, real: real.lines[at] });
        assert.equal(fate.is, isRefused ? 'refused' : 'permitted', `call ${at}: ${shown}`);
      }
    }
    const report = replay(lines, { trial, serviceName }, startMs, calls.at(-1)?.atMs ?? startMs);
    const sum = (rows: readonly { calls: number }[]) => rows.reduce((total, row) => total + row.calls, 0);
    assert.deepEqual({ refuse: sum(report.would_refuse), permit: sum(report.would_permit) }, expected);
    if (!isJudged) continue;
    assert.deepEqual(report.unknown, []);
    findings.refused += expected.refuse;
    findings.permitted += expected.permit;
    findings.limited += real.lines.filter(({ outcome }) => outcome === 'TOO_MANY_REQUESTS').length;
    countIndependently(trial.rules, calls, lines, real);
  }
  return findings;
}

/**
 * Counts without buckets: no period of a limit has more calls than its rate, and refused calls would have exceeded it within 1.1 periods.
 * @param lines - with the verdict on each call
 */
function countIndependently(
  rules: readonly Rule[],
  calls: readonly TrialCall[],
  lines: readonly RecordedExecution[],
  real: TrialRun,
): void {
  const spent = new Map<string, { atMs: number; cost: number }[]>();
  for (const [at, { atMs }] of calls.entries()) {
    const { holder = '', account = '', trial } = lines[at] as RecordedExecution;
    const stated = rules.filter(({ pointer }) => trial?.counts?.includes(pointer)).flatMap(({ charges }) => charges);
    const { sent } = real.lines[at] as RecordedExecution;
    const limits = [...Map.groupBy(stated, ({ id }) => id).values()].map((same) => {
      const { rate, period, currency, id } = same[0] as (typeof stated)[number];
      const cost = currency === undefined ? 1 : same.reduce((total, one) => total + one.cost, 0);
      const isRate = currency === undefined && Number.isFinite(period);
      const own = spent.get(`${id} ${holder}${isRate ? account : ''}`) ?? [];
      spent.set(`${id} ${holder}${isRate ? account : ''}`, own);
      const within = (share: number) =>
        own.filter((one) => one.atMs > atMs - period * 1_000 * share).reduce((total, one) => total + one.cost, 0);
      return { rate, cost, isRate, own, within };
    });
    if (real.refusedBy[at] === 'policy' && limits.length > 0)
      assert.ok(
        limits.some(({ rate, cost, within }) => within(1.1) + cost > rate),
        `call ${at} is refused without a reason`,
      );
    if (sent === undefined) continue;
    for (const { rate, cost, isRate, own, within } of limits) {
      if (!sent && !isRate) continue;
      own.push({ atMs, cost });
      assert.ok(within(1) <= rate, `call ${at} is beyond a limit`);
    }
  }
}
