import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { commandOf } from '../deploy/guide.ts';
import { refusalOf } from '../support/invoke.ts';
import { startApi } from './api.ts';

const api = await startApi({ demo: true });
const folder = await mkdtemp(join(tmpdir(), 'runbook-'));
const { runScript } = await openCommandLine(folder, { INTENT_GATE_URL: api.stack.base_url, INTENT_GATE_TOKEN: api.stack.admin_token });
afterAll(async () => {
  await api.stop();
  await rm(folder, { recursive: true });
});

/** Runs a command of the runbook as it is written, with the variables that the admin has set by then. */
async function follow(beginning: string, variables: Record<string, string> = {}): Promise<string> {
  const set = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  const command = commandOf('An agent is abusing a service', `npx intent-gate ${beginning}`);
  const { code, stdout, stderr } = await runScript([...set, command].join('\n'));
  expect({ code, stderr }).toEqual({ code: 0, stderr });
  return stdout;
}

/** Follows a command until it shows what was counted, which takes a moment. */
async function followUntil(beginning: string, pattern: RegExp): Promise<string> {
  for (const end = Date.now() + 60_000; ; await sleep(500)) {
    const shown = await follow(beginning);
    if (pattern.test(shown) || Date.now() > end) return shown;
  }
}

const startedMs = performance.now();
const AGENT = 'flooding agent';
const country = 'world.example:get-country:v1';
const callAs = (pat: string) => api.execute(pat, country, { code: 'JP' });
const [flooding, quiet] = [await api.obtainPat(AGENT), await api.obtainPat('quiet agent')];
for (let call = 0; call < 80; call++) await callAs(flooding);
expect((await callAs(quiet)).status).toBe(200);

test('the runbook leads from an agent that abuses a service to its block, and to a pause of the service', async () => {
  const flooded = /^World facts +81 +20 \(25 %\) +0 +\d+ ms$/m;
  const services = await followUntil('services top', flooded);
  expect(services).toMatch(flooded);
  const [, SERVICE = ''] = /^To see who calls World facts: intent-gate agents top --service (\w{26}) --since 1h$/m.exec(services) ?? [];

  const agents = (await follow('agents top', { SERVICE })).split('\n');
  expect(agents[1]).toMatch(/^flooding agent +80 +20 \(25 %\) +0 +\d+ ms$/);
  expect(agents[2]).toMatch(/^quiet agent +1 +0 +0 +\d+ ms$/);
  expect(agents[3]).toBe("To stop the first: intent-gate agents block --reason '...' 'flooding agent'");

  const shown = await follow('agents show', { AGENT });
  expect(shown).toMatch(/^key_thumbprint +[\w-]{43}$/m);
  expect(shown).toMatch(/^usage .*"limit":"execute".*"used":60,"left":0/m);

  expect(await follow('agents block', { AGENT })).toContain('Blocked flooding agent, by id and key');
  expect(refusalOf(await callAs(flooding))).toMatchObject({ status: 403, code: 'FORBIDDEN', details: { reason: 'agent_blocked' } });
  expect((await callAs(quiet)).status).toBe(200);

  await follow('services pause', { SERVICE });
  expect(refusalOf(await callAs(quiet))).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE', details: { reason: 'paused' } });
  await follow('services resume', { SERVICE });
  expect((await callAs(quiet)).status).toBe(200);
  expect(performance.now() - startedMs).toBeLessThan(300_000);
});
