import { createServer } from 'node:http';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { close, listen } from '../../../../bin/local/http.ts';
import type { StatsNumbers } from '../../../../schemas/usage/stats.ts';
import { makeFolder } from '../../../support/folder.ts';
import { openCommandLine } from '../command-line.ts';

const service_id = '01M85BA8ACA6JFVXZ7BHD03GE5';
const service = { service_id, service_name: 'Tides', service_url: 'https://tides.example', description: 'Tides' };
const numbers: StatsNumbers = {
  executions: 2_000,
  refusals: { TOO_MANY_REQUESTS: 100, FORBIDDEN: 10, INTENT_EXECUTION_FAILED: 5, SERVICE_UNAVAILABLE: 2 },
  upstream_calls: 1_890,
  upstream_failures: 7,
  drift: 0,
  upstream_ms: 4_000,
  latency: [10, 30, 0, 0, 0, 0],
};
const idle: StatsNumbers = { ...numbers, executions: 3, refusals: {}, upstream_failures: 0, upstream_ms: 0, latency: [0, 0, 0, 0, 0, 0] };
const slots: StatsNumbers[] = [];

let answers: Record<string, object>;
const asked: string[] = [];
const server = createServer(({ url = '', headers }, response) => {
  const { pathname, search } = new URL(url, 'http://gate.example');
  asked.push(`${pathname}${search} ${headers.authorization ?? '-'}`);
  const answer = answers[pathname];
  response.writeHead(answer ? 200 : 404, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(answer ?? { error: { code: 'NOT_FOUND', message: 'No.', details: {} } }));
});
const url = `http://127.0.0.1:${await listen(server)}`;
const { run, runAlone } = await openCommandLine(makeFolder(), { INTENT_GATE_URL: url, INTENT_GATE_TOKEN: 'token' });
afterAll(() => close(server));
beforeEach(() => {
  asked.length = 0;
  answers = { [`/api/services/${service_id}`]: service };
});
const answerStats = (rows: object): void => {
  answers['/api/stats'] = { period: 'hour', from: '2027-01-31T09:00:00.000Z', ...rows };
};

/** The request with which a command finds out whether the gate accepts the token of the environment. */
const isAccepted = '/api/changes?page_size=1 Bearer token';

test('agents top lists the agents that execute most, of one service, and says how to stop the first', async () => {
  const first = { agent_id: "-it's $(id)", ...numbers, slots };
  answerStats({ agents: [first, { agent_id: 'quiet', ...idle, slots }] });
  const words = ['agents', 'top', '--service', service_id, '--since', '1h'];
  expect(await run(words)).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'Agent        Calls  Served  Refused    Failed  Mean latency',
      "-it's $(id)  2000   1883    110 (6 %)  7       100 ms",
      'quiet        3      3       0          0       -',
      "To block the first: intent-gate agents block --reason '...' -- '-it'\\''s $(id)'",
      '',
    ].join('\n'),
  });
  expect(asked).toEqual([
    isAccepted,
    `/api/services/${service_id} Bearer token`,
    `/api/stats?period=hour&by=agent&service_id=${service_id} Bearer token`,
  ]);
  const { stdout } = await run([...words, '--json']);
  expect(JSON.parse(stdout)[0]).toEqual(first);
});

test('services top also lists refused calls and deleted services, and says how to go on', async () => {
  const gone = { service_id: '01M85BA8ACA6JFVXZ7BHD03GE6' };
  answerStats({
    services: [numbers, { ...gone, ...idle }, { service_id, service_name: 'Tides', ...idle }].map((row) => ({ ...row, slots })),
  });
  expect(await run(['services', 'top'])).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'Service            Calls  Served  Refused    Failed  Mean latency',
      'Refused early      2000   1883    110 (6 %)  7       100 ms',
      'A deleted service  3      3       0          0       -',
      'Tides              3      3       0          0       -',
      `To see who calls Tides: intent-gate agents top --service ${service_id} --since 24h`,
      `To stop all its calls: intent-gate services pause ${service_id}`,
      '',
    ].join('\n'),
  });
  expect(asked).toEqual([isAccepted, '/api/stats?period=day&by=service Bearer token']);
});

test('the same as CSV has every number, and no text that a spreadsheet would run', async () => {
  answerStats({ agents: [{ agent_id: '=HYPERLINK("x")', ...numbers, slots }] });
  expect(await run(['agents', 'top', '--csv'])).toMatchObject({
    code: 0,
    stdout: [
      'agent_id,executions,refusals.TOO_MANY_REQUESTS,refusals.FORBIDDEN,refusals.INTENT_EXECUTION_FAILED,refusals.SERVICE_UNAVAILABLE,upstream_calls,upstream_failures,drift,upstream_ms,latency,slots',
      '"\'=HYPERLINK(""x"")",2000,100,10,5,2,1890,7,0,4000,"[10,30,0,0,0,0]",[]',
      '',
    ].join('\n'),
  });
});

test.each([
  ['agents', { agents: [] }],
  ['services', { services: [] }],
])('%s top --watch shows the numbers again until it is interrupted', async (group, rows) => {
  answerStats(rows);
  const { stderr } = await runAlone([group, 'top', '--watch'], '', false, async (child) => {
    // whether the token is accepted, and two readings
    while (asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGINT');
  });
  expect(stderr.split('There were no executions in the last 24h.\n').length).toBeGreaterThanOrEqual(2);
});

test.each([
  [['agents', 'top', '--since', '30d'], { agents: [] }, 'There were no executions in the last 30d.\n'],
  [['services', 'top', '--since', '1h'], { services: [] }, 'There were no executions in the last 1h.\n'],
])('%j says that nothing was counted', async (words, rows, stderr) => {
  answerStats(rows);
  expect(await run(words)).toEqual({ code: 0, stdout: '', stderr });
  expect(await run([...words, '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
});

test('another --since is refused, and the choices are named', async () => {
  const { code, stderr } = await run(['agents', 'top', '--since', '2h']);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('Allowed choices are 1h, 24h, 30d.') });
  expect(asked).toEqual([]);
});
