import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Context } from 'aws-lambda';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { openHttp } from '../../client/http.ts';
import { publicPem, signJws } from '../../client/jws.ts';
import type { KeyPair } from '../../client/keys.ts';
import type { LambdaHandler } from '../../functions/core/http/serve.ts';
import { signingKeysFromEnvironment } from '../../functions/core/pat/signing-keys.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { tamper } from '../probes.ts';
import { benchmark } from './benchmark.ts';
import { type BenchedGate, startGate } from './gate.ts';
import { formatTable } from './load.ts';
import type { TableWork } from './table-work.ts';
import { benchEvent } from './workers.ts';

const usage = `npm run bench -- pat [options]
  --seconds <n>       how long each measurement runs (3)
  --concurrency <n>   PAT requests at once (16)`;

/** Something that is done again and again; `atOnce` says how many times at once. */
interface Task {
  what: string;
  act(): Promise<unknown>;
  atOnce?: number;
}

const rounds = 10;

/** `npm run bench -- pat`: verifications and issues a second, compared with jose's bare `jwtVerify` of the same PAT. */
export const run = benchmark(usage, { seconds: '3', concurrency: 16 }, async ({ seconds, concurrency }) => {
  await using gate = await startGate({ issueLimitPerHour: 100_000 });
  const { stack, dynamo, kms } = gate;
  const issue = await openIssue(gate);
  const pat = await issue();

  const signingKeys = signingKeysFromEnvironment();
  const key = (await signingKeys.find(decodeProtectedHeader(pat).kid ?? '')) as KeyObject;
  const verify = openPatVerifier({ findKey: signingKeys.find });
  const invalid = `${pat.slice(0, -86)}${'A'.repeat(86)}`;
  // its signature is well formed, so that it has to be verified
  const forged = tamper(pat);

  const at = () => ({ baseUrl: stack.base_url, nowMs: Date.now() });
  const tasks: Task[] = [
    { what: "jose's jwtVerify alone", act: () => jwtVerify(pat, key) },
    { what: 'verification of a PAT', act: () => verify(pat, at()) },
    { what: 'refusal of another spelling', act: () => verify(invalid, at()).catch(() => undefined) },
    { what: 'refusal of a forged signature', act: () => verify(forged, at()).catch(() => undefined) },
    { what: 'issue of a PAT', act: issue },
    { what: `issue of PATs, ${concurrency} at once`, act: issue, atOnce: concurrency },
  ];
  for (const { act } of tasks) for (let count = 0; count < 100; count++) await act();
  const countCalls = async () => ({ kms: kms.operations.splice(0).length, table: total(await dynamo.ask<TableWork>()) });
  await countCalls();
  const measured = tasks.map((task) => ({ task, count: 0, seconds: 0, kms: 0, table: 0 }));
  // in turns, so that whatever else the machine does affects all of them alike
  for (let round = 0; round < rounds; round++) {
    for (const sums of measured) {
      const more = { ...(await repeat(sums.task, Number(seconds) / rounds)), ...(await countCalls()) };
      for (const name of ['count', 'seconds', 'kms', 'table'] as const) sums[name] += more[name];
    }
  }

  const [bareRate = 0] = measured.map(({ count, seconds }) => count / seconds);
  console.log(`a PAT of ${pat.length} bytes; table and KMS are stand-ins on this machine, which share its processors\n`);
  const rows = measured.map(({ task, count, seconds, kms, table }) => [
    task.what,
    (count / seconds).toFixed(0),
    `${(count / seconds / bareRate).toFixed(2)} x`,
    (table / count).toFixed(2),
    (kms / count).toFixed(2),
  ]);
  console.log(formatTable([['', 'a second', 'beside jose', 'table calls each', 'KMS calls each'], ...rows]));
});

/** Repeats a task in as many chains as run at once, each beginning when the one before has ended. */
async function repeat({ act, atOnce = 1 }: Task, seconds: number): Promise<{ count: number; seconds: number }> {
  const startedMs = performance.now();
  let count = 0;
  const chain = async () => {
    for (; performance.now() - startedMs < seconds * 1000; count++) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, chain));
  return { count, seconds: (performance.now() - startedMs) / 1000 };
}

/** Asks the function, in this process, for PATs as several agents in turn. */
async function openIssue({ stack }: BenchedGate): Promise<() => Promise<string>> {
  const { folder, environment } = stack.definitionOf('issue-pat');
  Object.assign(process.env, environment, { LOG_LEVEL: 'SILENT' });
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
