import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addressIn, fetchPolicyInWords } from '../../../client/policy.ts';
import { compilePolicy } from '../../../functions/core/policy/compile.ts';
import { describeChanges, describePolicy } from '../../../functions/core/policy/describe.ts';
import { PolicyError } from '../../../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate, placeholder } from '../../../functions/core/policy/template.ts';
import { policy as policySchema } from '../../../schemas/policy.ts';
import { readDescription } from '../../local/stack-file.ts';
import { readAnswer } from '../../probes.ts';
import { type CliContext, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

export function addPolicy(program: CommandUnknownOpts): void {
  const policy = program.command('policy').description('The usage policy: show, diff');
  policy
    .command('show [file]')
    .description('Show the policy that agents have to sign, in plain sentences; with a file what that says, and what it grants')
    .action(async (file, _, command) => (file === undefined ? showInForce(openContext(command)) : showFile(openContext(command), file)));
  policy
    .command('diff [file] [after]')
    .description('Show what a policy file would change of the policy in force, or of another file. Exit code 2 if it would')
    .action((file, after, _, command) => {
      const context = openContext(command);
      if (file !== undefined && after !== undefined) return diffFiles(context, file, after);
      return diffInForce(context, file ?? chooseFile(context.api.baseUrl));
    });
}

async function showInForce({ api, terminal }: CliContext): Promise<void> {
  const { policy, inWords } = await fetchPolicyInWords(api.http);
  for (const sentence of inWords) terminal.say(sentence);
  terminal.json(policy);
}

function showFile({ terminal }: CliContext, file: string): void {
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
  terminal.json({ policy, sentences: inWords, ...grants });
}

/** The file that the local stack was started with, for a gate that is one. */
function chooseFile(baseUrl: string): string {
  const local = readDescription();
  return local?.base_url === baseUrl ? (local.policy_file ?? 'policy.json') : 'policy.json';
}

async function diffInForce({ api, terminal }: CliContext, file: string): Promise<void> {
  const current = readAnswer(policySchema, await api.call('GET', '/api/policy'));
  const address = addressIn(current, api.baseUrl);
  const changes = readFile(file, (template) => describeChanges(current, fillTemplate(template, address), address));
  showChanges(terminal, changes, `The policy in force is not that of ${file}. A deployment puts the file into effect.`);
  terminal.say(`The policy in force is that of ${file}.`);
}

function diffFiles({ terminal }: CliContext, before: string, after: string): void {
  const earlier = readFile(before, (template) => template);
  const changes = readFile(after, (template) => describeChanges(earlier, template, placeholder));
  showChanges(terminal, changes, `The policy of ${after} is not that of ${before}.`);
  terminal.say('The two say the same.');
}

function showChanges(terminal: Terminal, changes: string[], drift: string): void {
  for (const change of changes) terminal.say(change);
  terminal.json({ changes });
  if (changes.length > 0) throw new CliFailure('drift', drift);
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
