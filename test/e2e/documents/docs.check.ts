import { execFile } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { openCommandLine } from '../../bin/cli/command-line.ts';
import { commandOf } from '../../deploy/guide.ts';
import { makeFolder } from '../../support/folder.ts';
import { refusalOf } from '../../support/invoke.ts';
import { installPythonClient } from '../../support/python.ts';
import { startApi } from '../api.ts';

/** Pages that test/bin/cli/program.check.ts runs, with a logged-in command line, test/client/package.check.ts, with the client as a package,
 * or test/hosts, with the frameworks. */
const elsewhere = ['docs/command-line.md', 'docs/import.md', 'docs/frameworks.md'];

const python = await installPythonClient();

const pages = ['README.md', ...globSync('docs/*.md'), ...(python ? ['client/python/README.md'] : [])].filter(
  (page) => !elsewhere.includes(page),
);

const blocksOf = (page: string, language: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);

/** The commands of a page are run one after the other in one shell; programs are run separately. */
const programs = pages.flatMap((page) => {
  const commands = blocksOf(page, 'sh').join('\n');
  return [
    ...(commands ? [{ page, file: 'page.sh', command: ['bash', '-euo', 'pipefail'], code: commands }] : []),
    // test/lib/construct.check.ts runs the app of another team, with the packed construct installed
    ...blocksOf(page, 'ts')
      .filter((code) => !code.includes("'intent-gate-cdk'"))
      .map((code) => ({ page, file: 'block.ts', command: [process.execPath], code })),
    ...blocksOf(page, 'python').map((code) => ({ page, file: 'block.py', command: [join('.venv', 'bin', 'python')], code })),
  ];
});

const api = await startApi({ demo: true, context: { agentIds: 'shared' } });
const { stack } = api;
const folder = makeFolder();
for (const entry of ['bin', 'client', 'functions', 'lib', 'node_modules', 'samples', 'schemas', 'package.json'])
  symlinkSync(resolve(entry), join(folder, entry));

const { runScript } = await openCommandLine(folder, { INTENT_GATE_URL: stack.base_url, INTENT_GATE_TOKEN: stack.admin_token });

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

// before the programs, which execute, too
test('the runbook leads from an agent that abuses a service to its block, and to a pause of the service', async () => {
  const startedMs = performance.now();
  const AGENT = 'flooding agent';
  const country = 'world.example:get-country:v1';
  const callAs = (pat: string) => api.execute(pat, country, { code: 'JP' });
  const [flooding, quiet] = [await api.obtainPat(AGENT), await api.obtainPat('quiet agent')];
  for (let call = 0; call < 80; call++) await callAs(flooding);
  expect((await callAs(quiet)).status).toBe(200);

  const flooded = /^World facts +81 +61 +20 \(25 %\) +0 +\d+ ms$/m;
  const services = await followUntil('services top', flooded);
  expect(services).toMatch(flooded);
  const [, SERVICE = ''] = /^To see who calls World facts: intent-gate agents top --service (\w{26}) --since 1h$/m.exec(services) ?? [];

  const agents = (await follow('agents top', { SERVICE })).split('\n');
  expect(agents[1]).toMatch(/^flooding agent +80 +60 +20 \(25 %\) +0 +\d+ ms$/);
  expect(agents[2]).toMatch(/^quiet agent +1 +1 +0 +0 +\d+ ms$/);
  expect(agents[3]).toBe("To block the first: intent-gate agents block --reason '...' 'flooding agent'");

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

test.each(programs)(
  'the $language blocks of $page do what they say',
  async ({ file, command: [program = '', ...options], code }) => {
    const path = join(folder, file);
    writeFileSync(path, code);
    const { stdout } = await promisify(execFile)(program, [...options, path], {
      cwd: folder,
      env: {
        ...process.env,
        // keys belong into the folder of a person, and a test has its own
        HOME: folder,
        BASE_URL: stack.base_url,
        INTENT_GATE_URL: stack.base_url,
        INTENT_GATE_TOKEN: stack.admin_token,
        PROJECT: resolve('.'),
        PATH: [resolve('node_modules/.bin'), process.env.PATH].join(delimiter),
      },
      timeout: 90_000,
    });
    expect(stdout).not.toContain('"error":');
  },
  120_000,
);

test('there are programs to run', () => {
  expect(programs.length).toBeGreaterThan(5);
});
