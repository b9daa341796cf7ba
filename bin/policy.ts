/**
 * `npm run policy [-- FILE]`: what a policy file says, in plain sentences, and what it grants.
 * `npm run policy -- diff BEFORE AFTER`: what changes for agents from one policy file to another.
 */
import { readFileSync } from 'node:fs';
import { compilePolicy } from '../functions/core/policy/compile.ts';
import { describeChanges, describePolicy } from '../functions/core/policy/describe.ts';
import { PolicyError } from '../functions/core/policy/reading.ts';
import { parsePolicyTemplate, placeholder } from '../functions/core/policy/template.ts';

const read = (file: string) => parsePolicyTemplate(readFileSync(file, 'utf8'));

function show(file = 'policy.json'): void {
  const policy = read(file);
  const { scope, prohibited, lmt } = compilePolicy(policy, placeholder);
  console.log(describePolicy(policy, placeholder).join('\n'));
  console.log(`\nscope of a PAT: ${scope.join(' ') || 'nothing'}`);
  if (prohibited.length > 0) console.log(`taken away:     ${prohibited.join(' ')}`);
  console.log(`lmt:            ${lmt ? `${lmt.rate} in any ${lmt.period} seconds` : 'none'}`);
}

function showChanges(before: string, after: string): void {
  const changes = describeChanges(read(before), read(after), placeholder);
  console.log(changes.length > 0 ? changes.join('\n') : 'The two say the same.');
}

const [first, before, after] = process.argv.slice(2);
try {
  if (first !== 'diff') show(first);
  else if (before && after) showChanges(before, after);
  else {
    console.error('Say which two files: npm run policy -- diff BEFORE AFTER');
    process.exitCode = 1;
  }
} catch (error) {
  const isMistake = error instanceof PolicyError || (error instanceof Error && 'code' in error && error.code === 'ENOENT');
  if (!isMistake) throw error;
  console.error((error as Error).message);
  process.exitCode = 1;
}
