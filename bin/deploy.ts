/** `npm run deploy [-- <stage>] [options of cdk deploy]`: checks and deploys a stage, and saves its outputs to a file. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describe, diagnose, isReady } from './doctor/examine.ts';
import { inspect } from './doctor/inspect.ts';
import { outputsFile } from './outputs.ts';

const usage = 'npm run deploy -- [<stage>] [options of cdk deploy]    for example: npm run deploy -- test';

/** The arguments for `cdk`, or a mistake in the given ones. */
function commandFor(words: readonly string[]): string[] | { mistake: string } {
  const [first = 'production', ...others] = words;
  const isStage = !first.startsWith('-');
  const [stage, options] = isStage ? [first, others] : ['production', words];
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage)) return { mistake: `${stage} is not the name of a stage.` };
  if (options.some((word) => /^(-c|--context)?=?stage=/.test(word))) return { mistake: 'The stage is the first word.' };
  if (options.some((word) => /^(-O|--outputs-file)/.test(word))) return { mistake: `The outputs go to ${outputsFile(stage)}.` };
  return ['deploy', '--context', `stage=${stage}`, '--outputs-file', outputsFile(stage), ...options];
}

function readWords(words: string[]): { context: Record<string, string>; profile: string | undefined } {
  const { values } = parseArgs({
    args: words,
    options: { context: { type: 'string', short: 'c', multiple: true }, profile: { type: 'string' } },
    strict: false,
    allowPositionals: true,
  });
  const pairs = (values.context ?? []).map((text) => [...String(text).split(/=(.*)/s), ''].slice(0, 2));
  return { context: Object.fromEntries(pairs), profile: typeof values.profile === 'string' ? values.profile : undefined };
}

const cdk = fileURLToPath(new URL('../node_modules/aws-cdk/bin/cdk', import.meta.url));

function run(words: string[]): number {
  const { status, signal } = spawnSync(process.execPath, [cdk, ...words], { stdio: 'inherit' });
  return status ?? (signal === 'SIGINT' ? 130 : 1);
}

/**
 * Deploys unless the doctor finds that it would fail. A new stage is created without protection, so that CloudFormation can roll back
 * completely, and protected by a second deployment.
 * @returns the exit code
 */
async function deploy(words: string[]): Promise<number> {
  const { context, profile } = readWords(words);
  if (profile) process.env.AWS_PROFILE = profile;
  const findings = await inspect(context);
  const diagnoses = diagnose(findings).filter(({ isWell }) => !isWell);
  for (const diagnosis of diagnoses) console.error(describe(diagnosis));
  if (!isReady(diagnoses)) {
    console.error('\nNothing was deployed. Correct the above, then run the command again.');
    return 1;
  }
  const { settings, account } = findings;
  const isFirst = account.state === 'known' && account.stack === 'absent';
  if (!isFirst || typeof settings === 'string' || !settings.retainData) return run(words);
  console.error('First deployment: the stage is created, then protected against deletion by a second deployment.');
  return run([...words, '--context', 'unprotected=true']) || run(words);
}

const words = process.argv.slice(2);
const command = commandFor(words);
if (words.includes('--help') || words.includes('-h')) console.log(usage);
else if (Array.isArray(command)) process.exitCode = await deploy(command);
else {
  console.error(`${command.mistake}\n${usage}`);
  process.exitCode = 3;
}
