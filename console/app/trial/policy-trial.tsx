import { useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { isWithin } from '../../../functions/core/json/json.ts';
import { compilePolicy } from '../../../functions/core/policy/compile.ts';
import { listRules } from '../../../functions/core/policy/name-rules.ts';
import type { Rule } from '../../../functions/core/policy/reading.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { readTrial } from '../../../functions/trial/read-trial.ts';
import { countUses, nameIntents, replay } from '../../../functions/trial/replay.ts';
import type { Api } from '../../../registry/api.ts';
import { listServices, readExecutions } from '../../../registry/read.ts';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { type NamedPolicyTrial, policyTrialQuery, type TrialRow } from '../../../schemas/trial/policy-trial.ts';
import { Act } from '../admin/act.tsx';
import { Button } from '../components/controls.tsx';
import { Command } from '../components/copyable.tsx';
import { Failure, Skeleton } from '../components/states.tsx';
import { type Column, DataTable, Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Badge, Link, Part, Shown, Time, type Tone } from '../components/text.tsx';
import { deployment } from '../deployment.ts';
import { ask, gateNow, openAdminApi, useRead, useWork } from '../gate.ts';
import { linkTo } from '../route.ts';
import type { AdminSection, EditedPolicy } from '../section.ts';

const periods = { hour: 'Last hour', day: 'Last 24 hours', week: 'Last 7 days' };
const periodMs = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

export const trialView: AdminSection = { path: 'trial', AboutPolicy: PolicyOnTrial, useRuleColumns };

/** Most recorded executions that are read to count today's calls. */
const maxCounted = 20_000;

/** How many calls each rule has applied to since midnight UTC: a range if that depends on facts that were not recorded. */
function useRuleColumns(policy: Policy): Column<Rule>[] {
  const { answer } = useWork(() => countToday(policy), [policy]);
  const cell = ({ pointer }: Rule) => {
    if (!answer) return '';
    const { sure, possible } = answer.uses.get(pointer) ?? { sure: 0, possible: 0 };
    return `${sure === possible ? sure : `${sure} to ${possible}`}${answer.isWhole ? '' : ' or more'}`;
  };
  return [{ head: 'Used today', cell, isNumber: true }];
}

async function countToday(policy: Policy) {
  const api = openAdminApi();
  const startMs = new Date().setUTCHours(0, 0, 0, 0);
  const [executions, serviceName] = await Promise.all([readExecutions(api, startMs, maxCounted), readServiceNames(api)]);
  const uses = new Map<string, { sure: number; possible: number }>();
  const add = (pointer: string, isSure: boolean) => {
    const { sure, possible } = uses.get(pointer) ?? { sure: 0, possible: 0 };
    uses.set(pointer, { sure: sure + Number(isSure), possible: possible + 1 });
  };
  countUses(compile(policy), executions, serviceName, add);
  return { uses, isWhole: executions.length < maxCounted };
}

const compile = (policy: Policy) => ({ digest: canonicalDigest(policy), rules: compilePolicy(policy, deployment.publicUrl).rules });

async function readServiceNames(api: Api) {
  const names = new Map(await Array.fromAsync(listServices(api), ({ service_id, service_name }) => [service_id, service_name] as const));
  return (id: string) => names.get(id);
}

/** Compares a policy with the one in force, rule by rule: the policy on trial, or the edited one, which stays in the browser. */
function PolicyOnTrial({ inForce, draft, query }: EditedPolicy) {
  const { period } = policyTrialQuery.safeParse(Object.fromEntries(query)).data ?? policyTrialQuery.parse({});
  const deployed = useRead<NamedPolicyTrial>('/api/policy/try', { period }, 'admin');
  const [replayed, setReplayed] = useState<string>();
  const edited = replayed === draft ? draft : undefined;
  const tried = useWork(async () => (edited === undefined ? undefined : tryText(edited, periodMs[period])), [edited, period]);
  const hasNone = edited === undefined && deployed.error instanceof Refusal && deployed.error.details.reason === 'no_trial';
  const { error, isLoading, reload } = edited === undefined ? deployed : tried;
  const trial = edited === undefined ? deployed.answer?.value : tried.answer;
  // the previous result may be of another text
  const isWaiting = isLoading && (edited !== undefined || !trial);
  return (
    <Part title={edited === undefined ? 'On trial' : 'Your edits, tried on recent calls'}>
      <p class="quiet">
        See what another policy would have decided before you publish it: put it on trial, and new calls are checked against it without
        effect, or try your edits on recent calls.
      </p>
      <Tabs label="Period" tabs={periods} current={period} linkOf={(name) => linkTo(['policy'], { period: name })} />
      {isWaiting ? (
        <Skeleton />
      ) : hasNone ? (
        <p>No policy is on trial.</p>
      ) : error === undefined ? (
        trial && <Trial inForce={inForce} trial={trial} />
      ) : (
        <Failure error={error} retry={reload} />
      )}
      {draft !== undefined && (
        <p>
          {edited === undefined ? (
            <Button title="Try your edits on recent calls" kind="main" onClick={() => setReplayed(draft)} />
          ) : (
            <Button title="Back to the policy on trial" onClick={() => setReplayed(undefined)} />
          )}
        </p>
      )}
      {draft !== undefined && (
        <Act
          title="Put your edits on trial"
          command="policy publish policy.json --try"
          act={() => ask('PUT', '/api/policy/try', { raw: { text: draft, mediaType: 'application/json' }, isAdmin: true })}
          onDone={() => {
            setReplayed(undefined);
            deployed.reload();
          }}
        />
      )}
      {edited === undefined && trial && !hasNone && (
        <Act
          title="End the trial"
          isDangerous
          command="policy trial --end"
          act={() => ask('DELETE', '/api/policy/try', { isAdmin: true })}
          onDone={reload}
        />
      )}
      <Command text="policy try policy.next.json --since 7d" />
    </Part>
  );
}

/** Replays the recorded calls with a policy, as the command `policy try` does. */
async function tryText(text: string, ms: number): Promise<NamedPolicyTrial> {
  const api = openAdminApi();
  const trial = readTrial(parsePolicyTemplate(text), deployment.publicUrl);
  const untilMs = gateNow();
  const [policy, executions, serviceName] = await Promise.all([
    api.call('GET', '/api/policy').then(({ body }) => body as Policy),
    readExecutions(api, untilMs - ms),
    readServiceNames(api),
  ]);
  const report = replay(executions, { trial, inForce: compile(policy), serviceName }, untilMs - ms, untilMs);
  return { ...report, rules: listRules(trial.rules) };
}

const outcomes = {
  would_refuse: { text: 'would be refused', tone: 'bad' },
  would_permit: { text: 'would be permitted', tone: 'good' },
  would_wait: { text: 'would wait for approval', tone: 'warn' },
  unknown: { text: 'could not be decided', tone: undefined },
} as const satisfies Record<string, { text: string; tone: Tone | undefined }>;

type Outcome = keyof typeof outcomes;
type Effect = TrialRow & { outcome: Outcome };
type RuleEffect = Pick<Effect, 'outcome' | 'rule' | 'words' | 'calls'>;

const OutcomeBadge = ({ outcome, calls }: { outcome: Outcome; calls?: number }) => (
  <Badge tone={outcomes[outcome].tone}>
    {calls === undefined ? outcomes[outcome].text : `${countOf(calls)} ${outcomes[outcome].text}`}
  </Badge>
);

const countOf = (calls: number): string => `${calls} ${calls === 1 ? 'call' : 'calls'}`;

function Trial({ inForce, trial }: { inForce: Policy; trial: NamedPolicyTrial }) {
  const decided = ['would_refuse', 'would_permit', 'would_wait'] as const;
  const effects = decided.flatMap((outcome) => trial[outcome].map((row): Effect => ({ ...row, outcome })));
  const compared = compareRules(listRules(compilePolicy(inForce, deployment.publicUrl).rules), trial.rules, [
    ...effects,
    ...trial.unknown.map((row) => ({ ...row, outcome: 'unknown' as const })),
  ]);
  return (
    <>
      <Table
        label="Rules"
        heads={['In force', 'On trial', 'Effect']}
        isPlain
        rows={compared.map(({ words, isInForce, isOnTrial, effects: own }) => [
          isInForce ? isOnTrial ? words : <del>{<Shown text={words} />}</del> : '–',
          isOnTrial ? isInForce ? 'same' : <ins>{<Shown text={words} />}</ins> : '–',
          own.length === 0 ? (
            <span class="quiet">none</span>
          ) : (
            [...Map.groupBy(own, ({ outcome }) => outcome)].map(([outcome, same]) => (
              <OutcomeBadge key={outcome} outcome={outcome} calls={same.reduce((sum, { calls }) => sum + calls, 0)} />
            ))
          ),
        ])}
      />
      <p class="quiet">
        Checked {countOf(trial.calls)} since <Time at={trial.since} /> (dry run).
      </p>
      {trial.unknown.length > 0 && (
        <>
          <h3>Calls that could not be decided</h3>
          <Table
            label="Calls that could not be decided"
            heads={['Rule', 'Reason', 'Operations', 'Calls']}
            numbers={['Calls']}
            rows={trial.unknown.map((row) => [row.words, row.because, nameIntents(row), row.calls])}
          />
        </>
      )}
      {effects.length > 0 && (
        <>
          <h3>Calls with a different outcome</h3>
          <DataTable
            label="Calls with a different outcome"
            columns={columns}
            rows={effects}
            keyOf={({ outcome, rule, words, agent_id, intent_uid }) => JSON.stringify([outcome, rule, words, agent_id, intent_uid])}
            textOf={({ outcome, words, agent_id, intent_uid }) => `${outcomes[outcome].text} ${words} ${agent_id} ${intent_uid}`}
          />
        </>
      )}
    </>
  );
}

const columns: readonly Column<Effect>[] = [
  { head: 'Agent', cell: ({ agent_id }) => <Link to={linkTo(['agents', agent_id])} text={agent_id} />, sortBy: ({ agent_id }) => agent_id },
  {
    head: 'Operation',
    cell: ({ intent_uid }) => <Link to={linkTo(['intents', intent_uid])} text={intent_uid} />,
    sortBy: ({ intent_uid }) => intent_uid,
  },
  { head: 'Outcome', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} />, sortBy: ({ outcome }) => outcome },
  { head: 'Rule', cell: ({ words }) => <Shown text={words} /> },
  { head: 'Calls', cell: ({ calls }) => calls, sortBy: ({ calls }) => calls, isNumber: true },
  { head: 'First', cell: ({ first }) => <Time at={first} />, sortBy: ({ first }) => first },
  { head: 'Last', cell: ({ last }) => <Time at={last} />, sortBy: ({ last }) => last },
];

interface Compared {
  words: string;
  isInForce: boolean;
  isOnTrial: boolean;
  effects: RuleEffect[];
}

type Rules = NamedPolicyTrial['rules'];

/** The rules of both policies with their effects. Rules with the same description are merged. */
function compareRules(inForce: Rules, onTrial: Rules, effects: readonly RuleEffect[]): Compared[] {
  const found = new Map<string, Compared>();
  const at = (words: string, side: 'isInForce' | 'isOnTrial'): Compared => {
    const one = found.get(words) ?? { words, isInForce: false, isOnTrial: false, effects: [] };
    found.set(words, one);
    one[side] = true;
    return one;
  };
  for (const { words } of inForce) at(words, 'isInForce');
  for (const { words } of onTrial) at(words, 'isOnTrial');
  for (const effect of effects) {
    // a newly permitted call was refused by a rule of the policy in force
    const [rules, side] = effect.outcome === 'would_permit' ? ([inForce, 'isInForce'] as const) : ([onTrial, 'isOnTrial'] as const);
    const own = rules.find(({ rule }) => isWithin(effect.rule, rule));
    at(own?.words ?? effect.words, side).effects.push(effect);
  }
  return [...found.values()];
}
