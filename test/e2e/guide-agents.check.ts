import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { runConformance } from '../conformance/run.ts';
import { installTools } from '../support/python.ts';
import { startApi } from './api.ts';

const run = promisify(execFile);
const folder = resolve('test/e2e/guide-agents');

/** As people start it who have an agent of the protocol. */
const [{ stack }, python] = await Promise.all([
  startApi({ demo: true, context: { protocol: 'uim', agentIds: 'shared' } }),
  installTools(['cryptography==50.0.2', 'PyJWT==2.15.1', 'requests==2.34.2'], 'Agents in Python are not tried'),
]);

const agents: [file: string, program: string, output: string][] = [
  ['agent-jsonwebtoken.cjs', process.execPath, 'Swiss Franc\n'],
  ...(python
    ? [['agent_jwt.py', python, 'True\n'] as [string, string, string], ['agent_bare.py', python, 'Japan\n'] as [string, string, string]]
    : []),
];

describe.each(agents)('%s, which knows the address alone', (file, program, output) => {
  test('an agent that knows the address alone finds, agrees and executes, and does so again with another key under the same id', async () => {
    for (let time = 0; time < 2; time++) expect((await run(program, [join(folder, file), stack.base_url])).stdout).toBe(output);
  });

  test('the example agent has no other address and no path of its own', () => {
    const text = readFileSync(join(folder, file), 'utf8');
    expect(text).not.toMatch(/https?:\/\/|\/api\//);
  });
});

test('a check of conformance finds out what the protocol is called', async () => {
  const report = await runConformance(stack.base_url, { only: ['pat-issue', 'pat-claims', 'path-unknown'] });
  expect(report).toMatchObject({ protocol: 'uim', passed: 3, failed: 0, skipped: 0 });
});

test('errors have references under the name of the protocol', async () => {
  const answer = await fetch(`${stack.base_url}/api/services/none`);
  expect(await answer.json()).toMatchObject({ error: { code: 'NOT_FOUND', details: { reference: 'UIM-RES-001' } } });
});

test.each([
  ['/uim-policy.json', 200],
  ['/uim/intents/search', 200],
  ['/pat/issue', 405],
  ['/uim/execute', 405],
])('the path %s of the guides is there', async (path, status) => {
  expect((await fetch(`${stack.base_url}${path}`)).status).toBe(status);
});
