import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { fetchPolicyInWords } from '../../../client/policy.ts';
import { agentOf } from '../../../functions/core/policy/assignee.ts';
import { compileRules } from '../../../functions/core/policy/compiled-policy.ts';
import { isInstant, type JudgedAgent, type JudgedIntent, millisecondsOf } from '../../../functions/core/policy/conditions.ts';
import { findContradictions } from '../../../functions/core/policy/contradictions.ts';
import { describeRule } from '../../../functions/core/policy/describe.ts';
import { formatMoney } from '../../../functions/core/policy/money.ts';
import { placeholder } from '../../../functions/core/policy/placeholder.ts';
import { assigneeOf, rulesOf } from '../../../functions/core/policy/rule-index.ts';
import { comparePolicies, describePolicy } from '../../../functions/core/policy/sentences.ts';
import { fillTemplate } from '../../../functions/core/policy/template.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { compareForRegistry } from '../../../registry/policy/compare.ts';
import { completeParameters, type Explanation, explainCall } from '../../../registry/policy/explain.ts';
import { listVersions, publishPolicy, readVersion } from '../../../registry/policy/publish.ts';
import { intentUid } from '../../../schemas/intent-uid.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { isStackAt, readDescription } from '../../local/stack-file.ts';
import { type CliContext, openContext, readPairs, readValueFor } from '../context.ts';
import { readNames, sayUnknownIntent } from '../names.ts';
import { checkNames, compile, readInForce, readTemplate, refuseUnknown } from '../policies.ts';
import { plural } from '../terminal.ts';

export function addPolicy(program: CommandUnknownOpts): void {
  const policy = program.command('policy').description('The usage policy');
  policy
    .command('show [file]')
    .description('Show the policy in force, or that of a file, in plain sentences, and what it grants')
    .option('--registry <file>', 'registry file or folder to look up names in instead of the gate')
    .action(async (file, { registry }, command) => {
      const context = openContext(command);
      return file === undefined ? showInForce(context) : showFile(context, file, registry);
    });
  policy
    .command('diff [file] [after]')
    .description('Compare a policy file with the policy in force or another file. Exit code 2 if they differ')
    .option('--registry [file]', 'list the affected intents of the gate, or of a registry file or folder')
    .action(async (file, after, { registry }, command) => {
      const context = openContext(command);
      const change =
        file !== undefined && after !== undefined
          ? betweenFiles(file, after)
          : await fromInForce(context, file ?? chooseFile(context.api.baseUrl));
      const rules = [change.before, change.after].flatMap((policy) => compile(policy, change.address).rules);
      const names = await readNames(context, registry, rules);
      const unknown = checkNames(context, compile(change.after, change.address).rules, names);
      const same = registry === undefined || !names ? showChange(context, change) : showForRegistry(context, change, names.intents);
      refuseUnknown(unknown);
      if (same === undefined) throw new CliFailure('differences', change.different);
      context.terminal.say(same);
    });
  policy
    .command('publish [file]')
    .description('Put a policy into force, after showing what it changes')
    .option('--digest <version>', 'publish an earlier policy again, by its version as "policy versions" lists it')
    .option('--dry-run', 'only check the policy, and show what it would change')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (file, options, command) => publish(openContext(command), file, options));
  policy
    .command('versions')
    .description('List the policies that have been published, newest first')
    .action(async (_, command) => {
      const { api, terminal } = openContext(command);
      const [versions, { etag }] = await Promise.all([Array.fromAsync(listVersions(api)), readVersion(api)]);
      const inForce = await Promise.all(versions.slice(0, 1).map(async ({ version }) => (await readVersion(api, version)).etag === etag));
      terminal.json(terminal.format === 'csv' ? versions : { versions });
      terminal.table(
        versions.map(({ seq, at, actor, version }, at_) => [
          String(seq),
          at,
          actor.user_name ?? actor.client_id ?? actor.subject,
          version,
          inForce[at_] ? 'in force' : '',
        ]),
      );
      if (versions.length === 0) terminal.say('None has been published: the policy of the deployment is in force.');
    });
  policy
    .command('explain [intent_uid]')
    .description('Show whether the policy permits a call, and which rules decide; without an intent, show which rules apply to an agent')
    .option('-p, --param <name=value...>', 'parameter of the call, as JSON or text')
    .option('--file <file>', 'policy file to use instead of the policy in force')
    .option('--registry <file>', 'registry file or folder to look up the intent in instead of the gate')
    .option('--at <time>', 'time of the call, such as 2026-02-28T12:00:00Z; default: now')
    .option('--agent <who...>', 'the agent: one or more of its verified domain, key thumbprint and agent_id')
    .action(async (uid, { agent: parties = [], ...options }, command) => {
      const context = openContext(command);
      const agent = agentOf(parties);
      return uid === undefined ? showRulesOf(context, agent, options.file) : explain(context, uid, agent, options);
    });
}

interface ExplainOptions {
  param?: string[] | undefined;
  file?: string | undefined;
  registry?: string | undefined;
  at?: string | undefined;
}

async function explain(context: CliContext, uid: string, agent: JudgedAgent, { param = [], file, registry, at }: ExplainOptions) {
  const [fault] = intentUid.safeParse(uid).error?.issues ?? [];
  if (fault) throw usageFailure(`The intent_uid ${fault.message}.`);
  if (at !== undefined && !isInstant(at)) throw usageFailure('--at takes a date and time with an offset, such as 2026-02-28T12:00:00Z.');
  const nowMs = at === undefined ? Date.now() : millisecondsOf(at);
  // malformed pairs are refused before anything is read
  const written = Object.entries(readPairs(param, (text) => text));
  const { policy, address } = await choosePolicy(context, file);
  const { rules } = compile(policy, address, file);
  const names = await readNames(context, registry, rules, [uid]);
  const unknown = checkNames(context, rules, names);
  const intent = names?.intents.find(({ intentUid: known }) => known === uid);
  if (names && !intent) throw new CliFailure('failure', `${sayUnknownIntent(uid, names)}.`);
  const { definition } = intent ?? {};
  const inputOf = (name: string) => definition?.input_parameters.find((input) => input.name === name);
  const given = Object.fromEntries(written.map(([name, text]) => [name, readValueFor(text, inputOf(name))]));
  const { parameters, issues } = definition ? completeParameters(definition, given) : { parameters: given, issues: [] };
  showExplanation(context, explainCall(rules, { ...(intent ?? { intentUid: uid }), ...agent, parameters, nowMs }));
  if (issues.length > 0) context.terminal.remark('The gate refuses this call before it judges it, because of its parameters:');
  for (const { path, problem } of issues) context.terminal.remark(`  ${path} ${problem}`);
  refuseUnknown(unknown);
}

interface PublishOptions {
  digest?: string | undefined;
  dryRun?: true | undefined;
  yes?: true | undefined;
  /** on trial, instead of in force */
  try?: true | undefined;
}

async function publish(
  { api, terminal }: CliContext,
  file: string | undefined,
  { digest, dryRun, yes, try: isTrial }: PublishOptions,
): Promise<void> {
  if ((file === undefined) === (digest === undefined)) throw usageFailure('Name a policy file, or an earlier version with --digest.');
  const policy = file === undefined ? (await readVersion(api, digest)).policy : readTemplate(file);
  if (isTrial && !dryRun) {
    await api.call('PUT', '/api/policy/try', { body: policy, isAdmin: true });
    return terminal.result({ on_trial: true }, 'The policy is on trial. See what it would have decided with: npx intent-gate policy trial');
  }
  const { etag } = await readVersion(api);
  const planned = await publishPolicy(api, policy, etag, true);
  const { changes, warnings, agents } = planned;
  for (const change of changes) terminal.say(change);
  for (const { path, problem } of warnings) terminal.remark(['Warning:', path, problem].filter(Boolean).join(' '));
  if (dryRun || changes.length === 0)
    return terminal.result({ ...planned, published: false }, dryRun ? 'Nothing was published.' : 'This policy is in force already.');
  const consequence = `${plural(agents, 'agent')} must sign again`;
  await terminal.requireConfirmation(`Publish this policy? ${consequence}.`, yes);
  const published = await publishPolicy(api, policy, etag);
  terminal.result(
    { ...published, changes, warnings, agents, published: true },
    `Published as entry ${published.seq}; ${consequence}. Undo it with: npx intent-gate history undo ${published.seq}`,
  );
}

/** The policy in a file, else the one in force. */
const choosePolicy = async (context: CliContext, file: string | undefined) =>
  file === undefined ? readInForce(context) : { policy: readTemplate(file), address: placeholder };

/** Describes the rules that a policy has for one agent. */
async function showRulesOf(context: CliContext, agent: JudgedAgent, file: string | undefined): Promise<void> {
  const { policy, address } = await choosePolicy(context, file);
  const { rules, scope } = compileRules(rulesOf(compile(policy, address, file).rules, agent));
  const told = rules.map((rule) => ({ rule: rule.pointer, sentence: describeRule(rule) }));
  for (const { rule, sentence } of told) context.terminal.say(`${rule}  ${sentence}`);
  context.terminal.say(`scope of its PAT: ${scope.join(' ') || 'nothing'}`);
  context.terminal.json({ rules: told, scope });
}

async function showInForce({ api, terminal }: CliContext): Promise<void> {
  const { policy, inWords, source } = await fetchPolicyInWords(api.http);
  for (const sentence of inWords) terminal.say(sentence);
  if (source === 'file') terminal.remark('It is the policy of the deployment: none has been published.');
  terminal.json(policy);
}

async function showFile(context: CliContext, file: string, registry: string | undefined): Promise<void> {
  const { terminal } = context;
  const policy = readTemplate(file);
  const inWords = describePolicy(policy, placeholder).map((sentence) => sentence.replaceAll(placeholder, ''));
  const compiled = compile(policy, placeholder);
  const { scope, prohibited, lmt } = compileRules(rulesOf(compiled.rules, agentOf([])));
  for (const sentence of inWords) terminal.say(sentence);
  terminal.say(`\nscope of a PAT: ${scope.join(' ') || 'nothing'}`);
  if (prohibited.length > 0) terminal.say(`prohibited:     ${prohibited.join(' ')}`);
  terminal.say(`rate limit:     ${lmt ? `${lmt.rate} per ${lmt.period} s` : 'none'}`);
  for (const party of new Set(compiled.rules.flatMap((rule) => assigneeOf(rule)?.values.map(String) ?? []))) {
    const own = compileRules(rulesOf(compiled.rules, agentOf([party])));
    terminal.say(`scope for ${party}: ${own.scope.join(' ') || 'nothing'}`);
  }
  for (const { path, problem } of findContradictions(policy, placeholder, Date.now())) terminal.remark(`Warning: ${path} ${problem}`);
  const unknown = checkNames(context, compiled.rules, await readNames(context, registry, compiled.rules));
  terminal.json({ policy, sentences: inWords, ...compiled });
  refuseUnknown(unknown);
}

/** The policy file of the local stack if the gate is one, else `policy.json`. */
function chooseFile(baseUrl: string): string {
  const local = readDescription();
  return local !== undefined && isStackAt(local, baseUrl) ? (local.policy_file ?? 'policy.json') : 'policy.json';
}

/** Two policies with the same base URL substituted, so that they can be compared. */
interface Change {
  before: Policy;
  after: Policy;
  address: string;
  /** messages for different and for equivalent policies */
  different: string;
  same: string;
}

async function fromInForce(context: CliContext, file: string): Promise<Change> {
  const { policy: before, address } = await readInForce(context);
  return {
    before,
    after: fillTemplate(readTemplate(file), address),
    address,
    different: `The policy in force differs from ${file}. Put the file into force with: npx intent-gate policy publish ${file}`,
    same: `The policy in force matches ${file}.`,
  };
}

const betweenFiles = (before: string, after: string): Change => ({
  before: readTemplate(before),
  after: readTemplate(after),
  address: placeholder,
  different: `${after} differs from ${before}.`,
  same: 'The policies are equivalent.',
});

/** @returns what to say if nothing changes; undefined if something does */
function showChange({ terminal }: CliContext, { before, after, address, same }: Change): string | undefined {
  const changes = comparePolicies(before, after, address);
  for (const change of changes) terminal.say(change);
  terminal.json({ changes });
  return changes.length > 0 ? undefined : same;
}

/** @returns as {@link showChange} */
function showForRegistry({ terminal }: CliContext, { before, after, address }: Change, intents: readonly JudgedIntent[]) {
  const changes = compareForRegistry(compile(before, address), compile(after, address), intents);
  const { gained, lost, limitedOtherwise } = changes;
  for (const uid of gained) terminal.say(`gained  ${uid}`);
  for (const uid of lost) terminal.say(`lost    ${uid}`);
  for (const { intent_uid, before: earlier, after: now } of limitedOtherwise) {
    terminal.say(`new limits  ${intent_uid}`);
    for (const sentence of earlier.filter((one) => !now.includes(one))) terminal.say(`  no longer: ${sentence}`);
    for (const sentence of now.filter((one) => !earlier.includes(one))) terminal.say(`  new: ${sentence}`);
  }
  terminal.json({ gained, lost, limited_otherwise: limitedOtherwise });
  const isSame = gained.length + lost.length + limitedOtherwise.length === 0;
  return isSame ? `Nothing changes for the ${intents.length} intents of the registry.` : undefined;
}

function showExplanation({ terminal }: CliContext, { isPermitted, decidedBy, approvalBy, rules, charges }: Explanation): void {
  terminal.say(
    `${isPermitted ? 'Permitted' : 'Refused'}${decidedBy === undefined ? ': no permission covers the intent' : ` by ${decidedBy}`}.`,
  );
  for (const { rule, sentence, applies, why } of rules) {
    terminal.say(`${applies ? 'applies' : 'does not apply'}  ${rule}  ${sentence}`);
    terminal.say(`  ${why}`);
  }
  if (approvalBy !== undefined) terminal.say(`It must wait for approval (${approvalBy}).`);
  for (const { name, rate, period, cost, currency } of charges) {
    const show = (amount: number) => (currency === undefined ? `${amount}` : `${formatMoney(amount, currency)} ${currency}`);
    const time = Number.isFinite(period) ? `in any ${period} seconds` : 'in total';
    terminal.say(`counts ${show(cost)} towards "${name}": ${show(rate)} ${time}`);
  }
  terminal.json({
    is_permitted: isPermitted,
    decided_by: decidedBy ?? null,
    approval_by: approvalBy ?? null,
    rules,
    limits: charges.map(({ id, ...limit }) => limit),
  });
}
