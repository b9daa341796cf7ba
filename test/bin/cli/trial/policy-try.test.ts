import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { newUlid } from '../../../../functions/core/runtime/ulid.ts';
import { makeFolder } from '../../../support/folder.ts';
import { openCommandLine } from '../command-line.ts';

const folder = makeFolder();
const { run } = await openCommandLine(folder);

const refund = 'payments.example:refund:v1';
const noRefunds = resolve('samples/policies/no-large-refunds.json');
const fewPayments = resolve('samples/policies/five-payments-a-day.json');
const unchecked = 'The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.\n';

const line = (at: string, more: object = {}) => ({
  ...{
    level: 'INFO',
    message: 'executed',
    timestamp: `2026-03-01T${at}:00.100Z`,
    service: 'f',
    execution_id: newUlid(),
    agent_id: 'agent-1',
  },
  ...{ policy_digest: 'd', outcome: 'OK', is_replayed: false, started_at: `2026-03-01T${at}:00.000Z`, holder: 'key-1', intent_uid: refund },
  ...{ service_id: 's', method: 'POST', tags: [], sent: true, duration_ms: 100, ...more },
});
const write = (content: string): string => {
  const file = join(folder, 'calls.log');
  writeFileSync(file, content);
  return file;
};
const six = ['08:00', '08:01', '08:02', '08:03', '08:04', '10:30'].map((at) => line(at));
const others = [{ level: 'INFO', message: 'answered', status: 200 }, 'START RequestId: 1', ''];

test.each([
  ['JSON lines', () => [...others, ...six].map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')],
  ['aws logs tail', () => six.map((one) => `${one.timestamp} 2026/03/01/[1]abc ${JSON.stringify(one)}`).join('\n')],
  ['aws logs filter-log-events', () => JSON.stringify({ events: six.map((one) => ({ timestamp: 1, message: JSON.stringify(one) })) })],
  ['Logs Insights', () => JSON.stringify({ results: six.map((one) => [{ field: '@message', value: JSON.stringify(one) }]) })],
  ['an export of Logs Insights', () => JSON.stringify(six.map((one) => ({ '@message': JSON.stringify(one) })))],
  [
    'lines that repeat, in disorder',
    () =>
      [...six, ...six]
        .toReversed()
        .map((one) => JSON.stringify(one))
        .join('\n'),
  ],
])('policy try counts calls in %s, and names the hours without any', async (_, content) => {
  const file = write(content());
  const said = await run(['policy', 'try', fewPayments, '--log', file]);
  expect(said).toEqual({
    code: 1,
    stdout: [
      '6 calls from 2026-03-01T08:00:00.000Z to 2026-03-01T10:30:00.001Z',
      'would have been refused: 1 call',
      '  /permission/1/constraint/0  You may execute every intent of the namespace payments.example, at most 5 times a day.',
      `    1 call  agent-1  ${refund}  2026-03-01T10:30:00.000Z`,
      'would no longer have been refused: 0 calls',
      "would have waited for a person's approval: 0 calls",
      '',
    ].join('\n'),
    stderr: `${unchecked}There are no records from 2026-03-01T09:00:00.000Z to 2026-03-01T10:00:00.000Z. If there were calls, they are missing from this report.\n${fewPayments} would have refused 1 call that the policy in force permitted.\n`,
  });
});

test('calls that depend on parameters cannot be decided, and unreadable lines are counted', async () => {
  const file = write([...six.map((one) => JSON.stringify(one)), '{"message":"executed"}', '{"message":"executed","execu'].join('\n'));
  expect(await run(['policy', 'try', noRefunds, '--log', file, '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/"calls": 6,\s+"intents": 1,\s+"intent_uids": \[\s+"payments.example:refund:v1"\s+\]/),
    stderr: expect.stringContaining('2 lines "executed"'),
  });
  expect((await run(['policy', 'try', noRefunds, '--log', file])).stdout).toContain(
    [
      'could not be decided: 6 calls',
      '  /prohibition/0  You must not execute the intent payments.example:refund:v1 if parameter amount is at least 500, whatever else is permitted.',
      `    6 calls  ${refund}  the amount was not recorded`,
      '',
    ].join('\n'),
  );
});

test('assigned rules are tried on their agents only, and a domain that was not recorded decides nothing', async () => {
  const policy = join(folder, 'assigned.json');
  const target = '{base_url}/api/intents';
  const assigned = (assignee: string) => ({ target, action: 'execute', assignee });
  writeFileSync(policy, JSON.stringify({ permission: ['Agent-2', 'https://bot.example'].map(assigned) }));
  const by = (agent_id: string, agent_domain?: string) =>
    JSON.stringify(line('08:00', { agent_id, ...(agent_domain !== undefined && { agent_domain }) }));
  const file = write([by('agent-1', ''), by('agent-2', ''), by('agent-3', 'bot.example'), by('agent-4')].join('\n'));
  const { stdout } = await run(['policy', 'try', policy, '--log', file]);
  expect(stdout).toContain(`would have been refused: 1 call\n  No permission names the intent.\n    1 call  agent-1  ${refund}`);
  expect(stdout).toContain(`1 call  ${refund}  the domain of the agent was not recorded`);
});

test.each([
  [[resolve('README.md')], /README\.md does not contain a valid policy/],
  [[noRefunds, '--log', 'nowhere.log'], /The file nowhere\.log does not exist\./],
  [[noRefunds, '--since', '40d'], /--since takes a time such as 90m, 12h or 7d, of at most 31d\./],
])('policy try refuses the arguments %j', async (args, stderr) => {
  expect(await run(['policy', 'try', ...args])).toMatchObject({ code: 3, stderr: expect.stringMatching(stderr) });
});
