import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { readSubscriptions, startSubscriptions } from '../../../../bin/local/subscriptions.ts';
import type { Template } from '../../../../bin/local/template.ts';
import { newUlid } from '../../../../functions/core/runtime/ulid.ts';
import { readExecuted } from '../../../../functions/usage/executed-lines.ts';

const resource = (Type: string, Properties: Record<string, unknown>) => ({ Type, Properties, Metadata: {} });
const templateWith = (FilterPattern = '{ $.message = "executed" }'): Template => ({
  Resources: {
    Execute: resource('AWS::Lambda::Function', { LoggingConfig: { LogGroup: { Ref: 'ExecuteLogs' } } }),
    Other: resource('AWS::Lambda::Function', { LoggingConfig: { LogGroup: { Ref: 'OtherLogs' } } }),
    Emptier: resource('AWS::Lambda::Function', {}),
    Filter: resource('AWS::Logs::SubscriptionFilter', {
      LogGroupName: { Ref: 'ExecuteLogs' },
      DestinationArn: { 'Fn::GetAtt': ['Count', 'Arn'] },
      FilterPattern,
    }),
  },
});

const at = Date.parse('2026-03-01T12:00:00.123Z');
const lineOf = (agent_id: string, message = 'executed') =>
  JSON.stringify({ message, timestamp: new Date(at).toISOString(), execution_id: newUlid(), agent_id, outcome: 'OK' });

/** @param failures - number of invocations that fail */
function start(failures = 0, scheduled: string[] = [], everyMs = 10) {
  const invoked: { target: string; event: { awslogs: { data: string } } }[] = [];
  const subscriptions = startSubscriptions(
    readSubscriptions(templateWith()),
    scheduled,
    async (target, event) => {
      invoked.push({ target, event: event as (typeof invoked)[number]['event'] });
      if (invoked.length <= failures) throw new Error('it failed');
      return undefined;
    },
    everyMs,
  );
  return { invoked, ...subscriptions };
}

test('matching lines are delivered in the format of CloudWatch Logs before the stack stops', async () => {
  const { invoked, take, stop } = start();
  const [first, second, third] = [lineOf('a'), lineOf('b'), lineOf('c')] as const;
  for (const line of [first, second, third]) take(line, 'Execute');
  for (const other of [lineOf('d', 'answered'), 'executed', 'null', '"executed"', '']) take(other, 'Execute');
  take(lineOf('e'), 'Other');
  await stop();
  expect(invoked.map(({ target }) => target)).toEqual(['Count']);
  expect(invoked.map(({ event }) => JSON.parse(gunzipSync(Buffer.from(event.awslogs.data, 'base64')).toString()))).toEqual([
    {
      messageType: 'DATA_MESSAGE',
      owner: '000000000000',
      logGroup: 'ExecuteLogs',
      logStream: 'local',
      subscriptionFilters: ['Filter'],
      logEvents: [first, second, third].map((message) => ({ id: expect.stringMatching(/^\d{56}$/), timestamp: at, message })),
    },
  ]);
  expect(invoked.flatMap(({ event }) => readExecuted(event, at)).map(({ agent_id }) => agent_id)).toEqual(['a', 'b', 'c']);
});

test.each([
  [1, 2],
  [2, 3],
  [3, 3],
])('an invocation that fails %i times is made %i times, with the same event', async (failures, invocations) => {
  const { invoked, take, stop } = start(failures);
  take(lineOf('a'), 'Execute');
  await stop();
  expect(invoked).toHaveLength(invocations);
  expect(new Set(invoked.map(({ event }) => event.awslogs.data)).size).toBe(1);
});

test('a function that runs on a schedule runs after its batches', async () => {
  const { invoked, take, stop } = start(0, ['Other', 'Count']);
  take(lineOf('a'), 'Execute');
  await stop();
  expect(invoked.map(({ target, event }) => [target, Object.keys(event)])).toEqual([
    ['Count', ['awslogs']],
    ['Count', []],
  ]);
});

test('nothing is delivered while calls follow each other', async () => {
  const { invoked, take, stop } = start(0, [], 1_000);
  for (let count = 0; count < 75; count++) {
    take(lineOf('a'), 'Execute');
    await sleep(20);
  }
  expect(invoked).toHaveLength(0);
  await stop();
  expect(invoked).toHaveLength(1);
});

test('lines are delivered even if there is no pause between calls', async () => {
  const { invoked, take, stop } = start();
  while (invoked.length === 0) {
    take(lineOf('a'), 'Execute');
    await sleep(1);
  }
  await stop();
});

test.each(['executed', '{ $.message = "executed" && $.level = "INFO" }', '{ $.status = 200 }'])(
  'a filter %s is not supported',
  (pattern) => {
    expect(() => readSubscriptions(templateWith(pattern))).toThrow(/the local stack supports only filter patterns of the form/);
  },
);
