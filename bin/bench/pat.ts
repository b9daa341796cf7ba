import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Context } from 'aws-lambda';
import { CompactSign, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { openHttp } from '../../client/http.ts';
import { publicPem, signJws } from '../../client/jws.ts';
import type { KeyPair } from '../../client/keys.ts';
import type { LambdaHandler } from '../../functions/core/http/serve.ts';
import { signingKeysFromEnvironment } from '../../functions/core/pat/signing-keys.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { type BenchedGate, startGate } from './gate.ts';
import { formatTable } from './load.ts';
import type { TableWork } from './table-work.ts';
import { benchEvent } from './workers.ts';

const usage = `npm run bench -- pat [options]
  --seconds <n>       how long each measurement runs (3)
  --concurrency <n>   PAT requests at once (16)`;

/** Something that is measured, and what has been measured so far. */
interface Task {
  what: string;
  act: () => Promise<unknown>;
  /** how many run at once */
  atOnce: number;
  count: number;
  elapsedSeconds: number;
  kmsCalls: number;
  tableCalls: number;
}

const rounds = 10;

/** `npm run bench -- pat`: verifications and issues a second, compared with jose's bare `jwtVerify` of the same PAT. */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '3' },
      concurrency: { type: 'string', default: '16' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(usage);
  const [seconds, concurrency] = [Number(values.seconds), Number(values.concurrency)];

  const gate = await startGate({ issueLimitPerHour: 100_000 });
  const { stack, dynamo, kms } = gate;
  const issue = await openIssue(gate);
  const pat = await issue();

  const signingKeys = signingKeysFromEnvironment();
  const key = (await signingKeys.find(decodeProtectedHeader(pat).kid ?? '')) as KeyObject;
  const verify = openPatVerifier({ findKey: signingKeys.find });
  const invalid = `${pat.slice(0, -86)}${'A'.repeat(86)}`;
  const forged = await forge(pat);

  const at = () => ({ baseUrl: stack.base_url, nowMs: Date.now() });
  const tasks: Task[] = [
    newTask("jose's jwtVerify alone", () => jwtVerify(pat, key)),
    newTask('verification of a PAT', () => verify(pat, at())),
    newTask('refusal of another spelling', () => verify(invalid, at()).catch(() => undefined)),
    newTask('refusal of a forged signature', () => verify(forged, at()).catch(() => undefined)),
    newTask('issue of a PAT', issue),
    newTask(`issue of PATs, ${concurrency} at once`, issue, concurrency),
  ];
  for (const { act } of tasks) for (let count = 0; count < 100; count++) await act();
  const countCalls = async () => ({ kms: kms.operations.splice(0).length, table: total(await dynamo.ask<TableWork>()) });
  await countCalls();
  // in turns, so that whatever else the machine does affects all of them alike
  for (let round = 0; round < rounds; round++) {
    for (const task of tasks) {
      await repeat(task, seconds / rounds);
      const calls = await countCalls();
      task.kmsCalls += calls.kms;
      task.tableCalls += calls.table;
    }
  }

  const [bare] = tasks;
  console.log(`a PAT of ${pat.length} bytes; table and KMS are stand-ins on this machine, which share its processors\n`);
  console.log(
    formatTable([
      ['', 'a second', 'beside jose', 'table calls each', 'KMS calls each'],
      ...tasks.map((task) => [
        task.what,
        rateOf(task).toFixed(0),
        `${(rateOf(task) / rateOf(bare ?? task)).toFixed(2)} x`,
        (task.tableCalls / task.count).toFixed(2),
        (task.kmsCalls / task.count).toFixed(2),
      ]),
    ]),
  );
  await gate.stop();
}

const newTask = (what: string, act: () => Promise<unknown>, atOnce = 1): Task => ({
  what,
  act,
  atOnce,
  count: 0,
  elapsedSeconds: 0,
  kmsCalls: 0,
  tableCalls: 0,
});

const rateOf = ({ count, elapsedSeconds }: Task): number => count / elapsedSeconds;

/** Repeats a task in as many chains as run at once, each beginning when the one before has ended. */
async function repeat(task: Task, seconds: number): Promise<void> {
  const startedMs = performance.now();
  const chain = async () => {
    for (; performance.now() - startedMs < seconds * 1000; task.count++) await task.act();
  };
  await Promise.all(Array.from({ length: task.atOnce }, chain));
  task.elapsedSeconds += (performance.now() - startedMs) / 1000;
}

/** The same claims under another key. */
async function forge(pat: string): Promise<string> {
  const { alg = 'ES256', ...header } = decodeProtectedHeader(pat);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const claims = Buffer.from(JSON.stringify(decodeJwt(pat)));
  // half of all signatures have the upper s, and would be refused for that
  for (;;) {
    const token = await new CompactSign(claims).setProtectedHeader({ alg, ...header }).sign(privateKey);
    const signature = Buffer.from(token.split('.')[2] ?? '', 'base64url');
    if ((signature[32] ?? 0) < 0x7f) return token;
  }
}

/** Asks the function, in this process, for PATs as several agents in turn. */
async function openIssue({ stack }: BenchedGate): Promise<() => Promise<string>> {
  const { folder, environment } = stack.definitionOf('issue-pat');
  Object.assign(process.env, environment, { POWERTOOLS_LOG_LEVEL: 'SILENT' });
  const { handler }: { handler: LambdaHandler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
  const { body: policy } = await openHttp({ url: stack.base_url }).send('GET', '/api/policy');
  const bodies = await Promise.all(
    Array.from({ length: 32 }, async (_, at) => {
      const key = (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as KeyPair;
      // without a jti, so that it may be sent again
      const signed_policy = await signJws(key, {}, policy as object);
      return JSON.stringify({ agent_id: `agent ${at}`, signed_policy, agent_public_key: await publicPem(key) });
    }),
  );
  const request = { method: 'POST', path: '/api/pat/issue', baseUrl: stack.base_url, headers: { 'Content-Type': 'application/json' } };
  let next = 0;
  return async () => {
    const event = benchEvent({ ...request, body: bodies[next++ % bodies.length] ?? '' });
    const { statusCode, body } = await handler(event, { getRemainingTimeInMillis: () => 10_000 } as Context);
    if (statusCode !== 200) throw new Error(`the issue was answered with ${statusCode}: ${body}`);
    return JSON.parse(body)['proto-pat'];
  };
}

const total = ({ operations }: TableWork): number => Object.values(operations).reduce((sum, count) => sum + count, 0);
