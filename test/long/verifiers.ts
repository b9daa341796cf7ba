/**
 * Three verifiers of PATs, which share no code, judge the same tokens: the gate's own, one on node:crypto ({@link ../support/second-verifier.ts}),
 * and one on PyJWT (third_verifier.py). Tokens are genuine, or changed at random in header, claims, their spelling, and signature; most are signed
 * with a published key. Needs Python 3 with pip; says so and ends with 0 without it.
 * `node bin/run.js test/long/verifiers.ts [--tokens 20000] [--seed 1]`
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { installWitnesses } from '../support/python.ts';
import { seededRandom } from '../support/random.ts';
import { openTokens } from '../support/tokens.ts';
import { readNumbers } from './options.ts';

const { tokens: count, seed } = readNumbers({ tokens: 20_000, seed: 1 });
const random = seededRandom(seed);

const skippedWith = 'skipped: PyJWT cannot be installed here';
const python = await installWitnesses(skippedWith);
if (!python) {
  console.log(skippedWith);
  process.exit(0);
}

const { jwks, address, now, makeToken, judge } = await openTokens();
const tokens = Array.from({ length: count }, () => makeToken(random));
const child = spawn(python, ['test/support/third_verifier.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
child.stdin.end([{ jwks, address }, ...tokens.map((token) => ({ token, now }))].map((line) => `${JSON.stringify(line)}\n`).join(''));
const third = (await text(child.stdout)).trim().split('\n');

const violations: string[] = [];
let accepted = 0;
for (const [at, token] of tokens.entries()) {
  const verdicts = { ...(await judge(token)), third: third[at] === '1' };
  if (verdicts.gate) accepted++;
  if (new Set(Object.values(verdicts)).size === 1) continue;
  const parts = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  violations.push(`${JSON.stringify(verdicts)} ${JSON.stringify(token)}\n  ${parts.slice(0, 2).join(' ')}`);
}
if (third.length !== tokens.length) violations.push(`the third verifier judged ${third.length} tokens`);
console.log(`${tokens.length} tokens, ${accepted} of them accepted, ${violations.length} that the verifiers disagree about`);
for (const violation of violations.slice(0, 10)) console.log(violation);
process.exitCode = violations.length > 0 || accepted === 0 ? 1 : 0;
