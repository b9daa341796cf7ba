/** `npm run deploy [-- <stage>] [options of cdk deploy]`: deploys a stage, and keeps its outputs in a file of its own. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { outputsFile } from './outputs.ts';

const usage = 'npm run deploy -- [<stage>] [options of cdk deploy]    for example: npm run deploy -- test';

/** The words for `cdk`, or what is wrong with those that were given. */
function commandFor(words: readonly string[]): string[] | { mistake: string } {
  const [first = 'production', ...others] = words;
  const isStage = !first.startsWith('-');
  const [stage, options] = isStage ? [first, others] : ['production', words];
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage)) return { mistake: `${stage} is not the name of a stage.` };
  if (options.some((word) => /^(-c|--context)?=?stage=/.test(word))) return { mistake: 'The stage is the first word.' };
  if (options.some((word) => /^(-O|--outputs-file)/.test(word))) return { mistake: `The outputs go to ${outputsFile(stage)}.` };
  return ['deploy', '--context', `stage=${stage}`, '--outputs-file', outputsFile(stage), ...options];
}

const command = commandFor(process.argv.slice(2));
if (Array.isArray(command)) {
  const cdk = fileURLToPath(new URL('../node_modules/aws-cdk/bin/cdk', import.meta.url));
  const { status, signal } = spawnSync(process.execPath, [cdk, ...command], { stdio: 'inherit' });
  process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
} else {
  console.error(`${command.mistake}\n${usage}`);
  process.exitCode = 3;
}
