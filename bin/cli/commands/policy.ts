import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describeChanges, describePolicy } from '../../../functions/core/policy/describe.ts';
import { PolicyError } from '../../../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { readPolicy } from '../agent/handshake.ts';
import { type Context, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';

/** The address that the policy was filled in with, which need not be the one that it was fetched by. */
const ownAddress = ({ permission = [] }: Policy, baseUrl: string): string =>
  permission.map(({ target }) => /^(.*)\/api\/intents(?:[/?]|$)/.exec(target)?.[1]).find((address) => address !== undefined) ?? baseUrl;

/** A policy in plain sentences; as JSON where it says what this program does not understand. */
export function describeTerms(policy: Policy, baseUrl: string): string[] {
  try {
    return describePolicy(policy, ownAddress(policy, baseUrl));
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return ['It cannot be put into plain words. This is the whole of it:', ...JSON.stringify(policy, null, 2).split('\n')];
  }
}

export function addPolicy(program: Command): void {
  const policy = program.command('policy').description('The usage policy: show, diff');
  policy
    .command('show')
    .description('Show the policy that agents have to sign, in plain sentences')
    .action(async (_, command: Command) => {
      const { api, terminal } = openContext(command);
      const current = await readPolicy(api);
      for (const sentence of describeTerms(current, api.baseUrl)) terminal.say(sentence);
      terminal.json(current);
    });
  policy
    .command('diff [file]')
    .description('Show what a policy file would change of the policy in force. Exit code 2 where it would')
    .action((file: string | undefined, _, command: Command) => runDiff(openContext(command), file ?? 'policy.json'));
}

async function runDiff({ api, terminal }: Context, file: string): Promise<void> {
  const current = await readPolicy(api);
  const address = ownAddress(current, api.baseUrl);
  const changes = describeFile(current, file, address);
  for (const change of changes) terminal.say(change);
  terminal.json({ changes });
  if (changes.length > 0)
    throw new CliFailure('drift', `The policy in force is not that of ${file}. A deployment puts the file into effect.`);
  terminal.say(`The policy in force is that of ${file}.`);
}

function describeFile(current: Policy, file: string, address: string): string[] {
  try {
    return describeChanges(current, fillTemplate(parsePolicyTemplate(readFileSync(file, 'utf8')), address), address);
  } catch (error) {
    if (error instanceof PolicyError) throw usageFailure(`The file ${file} holds no policy that can be put into effect:`, error.issues);
    if (error instanceof Error && 'code' in error) throw usageFailure(`The file ${file} cannot be read.`);
    throw error;
  }
}
