import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addressIn, fetchPolicyInWords } from '../../../client/policy.ts';
import { compareForRegistry } from '../../../functions/core/policy/compare.ts';
import { compilePolicy, type Grants } from '../../../functions/core/policy/compile.ts';
import type { JudgedIntent } from '../../../functions/core/policy/conditions.ts';
import { findContradictions } from '../../../functions/core/policy/contradictions.ts';
import { describeChanges, describePolicy } from '../../../functions/core/policy/describe.ts';
import { type Explanation, explainCall } from '../../../functions/core/policy/explain.ts';
import { formatMoney } from '../../../functions/core/policy/money.ts';
import { placeholder } from '../../../functions/core/policy/placeholder.ts';
import { PolicyError, type Rule } from '../../../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { findUnknownNames, type KnownNames } from '../../../functions/core/policy/unknown-names.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { intentUid } from '../../../schemas/intent-uid.ts';
import { parseExact } from '../../../schemas/number.ts';
import { type Policy, policy as policySchema } from '../../../schemas/policy.ts';
import { isStackAt, readDescription } from '../../local/stack-file.ts';
import { readAnswer } from '../../probes.ts';
import { type CliContext, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readNames, sayUnknownIntent } from '../registry/names.ts';

export function addPolicy(program: CommandUnknownOpts): void {
  const policy = program.command('policy').description('The usage policy: show, diff, explain');
  policy
    .command('show [file]')
    .description('Show the policy that agents have to sign, in plain sentences; with a file what that says, and what it grants')
    .option('--registry <file>', 'a registry file or folder to look names up in, in place of the gate')
    .action(async (file, { registry }, command) => {
      const context = openContext(command);
      return file === undefined ? showInForce(context) : showFile(context, file, registry);
    });
  policy
    .command('diff [file] [after]')
    .description('Show what a policy file would change of the policy in force, or of another file. Exit code 2 if it would')
    .option('--registry [file]', 'name the intents that change: those of the gate, or of a registry file or folder')
    .action(async (file, after, { registry }, command) => {
      const context = openContext(command);
      const change =
        file !== undefined && after !== undefined
          ? betweenFiles(file, after)
          : await fromInForce(context, file ?? chooseFile(context.api.baseUrl));
      const rules = [change.before, change.after].flatMap((policy) => compile(policy, change.address).rules);
      const names = await readNames(context, registry, rules);
      const unknown = checkNames(context, compile(change.after, change.address).rules, names);
      if (registry === undefined || !names) showChange(context, change, unknown);
      else showForRegistry(context, change, names.intents, unknown);
    });
  policy
    .command('explain <intent_uid>')
    .description('Show whether the policy permits a call, which of its rules decide, and why')
    .option('-p, --param <name=value...>', 'a parameter of the call; what is valid JSON is taken as JSON, anything else as text')
    .option('--file <file>', 'a policy file in place of the policy in force')
    .option('--registry <file>', 'a registry file or folder to look the intent up in, in place of the gate')
    .option('--at <time>', 'when the call is made, such as 2026-02-28T12:00:00Z, if not now')
    .option('--key <thumbprint>', "RFC 7638 thumbprint of the agent's key")
    .action(async (uid, { param = [], file, registry, at, key = '' }, command) => {
      const context = openContext(command);
      const [fault] = intentUid.safeParse(uid).error?.issues ?? [];
      if (fault) throw usageFailure(`The intent_uid ${fault.message}.`);
      const nowMs = at === undefined ? Date.now() : Date.parse(at);
      if (Number.isNaN(nowMs)) throw usageFailure('--at takes a date and time such as 2026-02-28T12:00:00Z.');
      const { policy, address } = file === undefined ? await readInForce(context) : { policy: readTemplate(file), address: placeholder };
      const parameters = readPairs(param);
      const { rules } = compile(policy, address, file);
      const names = await readNames(context, registry, rules, [uid]);
      const unknown = checkNames(context, rules, names);
      const intent = names?.intents.find(({ intentUid: known }) => known === uid);
      if (names && !intent) throw new CliFailure('drift', `${sayUnknownIntent(uid, names)}.`);
      const call = { ...(intent ?? { intentUid: uid }), parameters, thumbprint: key, nowMs };
      showExplanation(context, explainCall(rules, call));
      refuseUnknown(unknown);
    });
}

async function showInForce({ api, terminal }: CliContext): Promise<void> {
  const { policy, inWords } = await fetchPolicyInWords(api.http);
  for (const sentence of inWords) terminal.say(sentence);
  terminal.json(policy);
}

async function showFile(context: CliContext, file: string, registry: string | undefined): Promise<void> {
  const { terminal } = context;
  const [policy, inWords, grants] = readFile(file, (template) => [
    template,
    describePolicy(template, placeholder),
    compilePolicy(template, placeholder),
  ]);
  const { scope, prohibited, lmt } = grants;
  for (const sentence of inWords) terminal.say(sentence);
  terminal.say(`\nscope of a PAT: ${scope.join(' ') || 'nothing'}`);
  if (prohibited.length > 0) terminal.say(`taken away:     ${prohibited.join(' ')}`);
  terminal.say(`lmt:            ${lmt ? `${lmt.rate} in any ${lmt.period} seconds` : 'none'}`);
  for (const { path, problem } of readFile(file, (template) => findContradictions(template, placeholder, Date.now())))
    terminal.remark(`Warning: ${path} ${problem}`);
  const unknown = checkNames(context, grants.rules, await readNames(context, registry, grants.rules));
  terminal.json({ policy, sentences: inWords, ...grants });
  refuseUnknown(unknown);
}

/** The file that the local stack was started with, for a gate that is one. */
function chooseFile(baseUrl: string): string {
  const local = readDescription();
  return local !== undefined && isStackAt(local, baseUrl) ? (local.policy_file ?? 'policy.json') : 'policy.json';
}

/** A change from one policy to another, at the address that both are filled in for. */
interface Change {
  before: Policy;
  after: Policy;
  address: string;
  /** what is said if there is a difference, and if there is none */
  drift: string;
  same: string;
}

async function readInForce({ api }: CliContext): Promise<{ policy: Policy; address: string }> {
  const policy = readAnswer(policySchema, await api.call('GET', '/api/policy'));
  return { policy, address: addressIn(policy, api.baseUrl) };
}

async function fromInForce(context: CliContext, file: string): Promise<Change> {
  const { policy: before, address } = await readInForce(context);
  return {
    before,
    after: fillTemplate(readTemplate(file), address),
    address,
    drift: `The policy in force is not that of ${file}. A deployment puts the file into effect.`,
    same: `The policy in force is that of ${file}.`,
  };
}

const betweenFiles = (before: string, after: string): Change => ({
  before: readTemplate(before),
  after: readTemplate(after),
  address: placeholder,
  drift: `The policy of ${after} is not that of ${before}.`,
  same: 'The two say the same.',
});

function showChange({ terminal }: CliContext, { before, after, address, drift, same }: Change, unknown: Issue[]): void {
  const changes = describeChanges(before, after, address);
  for (const change of changes) terminal.say(change);
  terminal.json({ changes });
  refuseUnknown(unknown);
  if (changes.length > 0) throw new CliFailure('drift', drift);
  terminal.say(same);
}

function showForRegistry(
  { terminal }: CliContext,
  { before, after, address, drift }: Change,
  intents: readonly JudgedIntent[],
  unknown: Issue[],
): void {
  const changes = compareForRegistry(compile(before, address), compile(after, address), intents);
  const { gained, lost, limitedOtherwise } = changes;
  for (const uid of gained) terminal.say(`gained  ${uid}`);
  for (const uid of lost) terminal.say(`lost    ${uid}`);
  for (const { intent_uid, before: earlier, after: now } of limitedOtherwise) {
    terminal.say(`limited otherwise  ${intent_uid}`);
    for (const sentence of earlier.filter((one) => !now.includes(one))) terminal.say(`  no longer: ${sentence}`);
    for (const sentence of now.filter((one) => !earlier.includes(one))) terminal.say(`  new: ${sentence}`);
  }
  terminal.json({ gained, lost, limited_otherwise: limitedOtherwise });
  refuseUnknown(unknown);
  if (gained.length + lost.length + limitedOtherwise.length > 0) throw new CliFailure('drift', drift);
  terminal.say(`Nothing changes for the ${intents.length} intents of the registry.`);
}

/** What a policy names and nothing has; says so if that was not looked up. */
function checkNames({ terminal }: CliContext, rules: readonly Rule[], names: KnownNames | undefined): Issue[] {
  if (names) return findUnknownNames(rules, names);
  terminal.remark('The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.');
  return [];
}

/** A rule about a name that does not exist has no effect: a misspelt prohibition would prohibit nothing. */
function refuseUnknown(unknown: Issue[]): void {
  if (unknown.length > 0) throw new CliFailure('drift', 'The policy names what does not exist in the registry:', { issues: unknown });
}

function showExplanation({ terminal }: CliContext, { isPermitted, decidedBy, rules, charges }: Explanation): void {
  terminal.say(
    `${isPermitted ? 'Permitted' : 'Refused'}${decidedBy === undefined ? ': no permission names the intent' : ` by ${decidedBy}`}.`,
  );
  for (const { rule, sentence, applies, why } of rules) {
    terminal.say(`${applies ? 'applies' : 'does not apply'}  ${rule}  ${sentence}`);
    terminal.say(`  ${why}`);
  }
  for (const { name, rate, period, cost, currency } of charges) {
    const show = (amount: number) => (currency === undefined ? `${amount}` : `${formatMoney(amount, currency)} ${currency}`);
    const time = Number.isFinite(period) ? `in any ${period} seconds` : 'in all';
    terminal.say(`takes ${show(cost)} of "${name}": ${show(rate)} ${time}`);
  }
  terminal.json({ is_permitted: isPermitted, decided_by: decidedBy ?? null, rules, limits: charges.map(({ id, ...limit }) => limit) });
}

function readPairs(pairs: string[]): Record<string, unknown> {
  const read = ([, name, written]: string[]): [string, unknown] => {
    if (name === undefined || written === undefined) throw usageFailure('--param takes name=value.');
    try {
      return [name, parseExact(written)];
    } catch {
      return [name, written];
    }
  };
  return Object.fromEntries(pairs.map((pair) => read(/^([^=]+)=(.*)$/s.exec(pair) ?? [])));
}

const readTemplate = (file: string): Policy => readFile(file, (template) => compilePolicy(template, placeholder) && template);

function compile(policy: Policy, address: string, file = 'in force'): Grants {
  try {
    return compilePolicy(policy, address);
  } catch (error) {
    if (error instanceof PolicyError) throw usageFailure(`The policy ${file} cannot be put into effect by this version:`, error.issues);
    throw error;
  }
}

function readFile<T>(file: string, use: (template: ReturnType<typeof parsePolicyTemplate>) => T): T {
  try {
    return use(parsePolicyTemplate(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof PolicyError)
      throw usageFailure(`The file ${file} does not contain a policy that can be put into effect:`, error.issues);
    if (error instanceof Error && 'code' in error) throw usageFailure(`The file ${file} cannot be read.`);
    throw error;
  }
}
