import { ConditionalCheckFailedException, DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { expect, jest, test } from '@jest/globals';
import { withinInvocation } from '../../../../functions/core/runtime/invocation.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { openTable, type Table, type Write } from '../../../../functions/core/table/table.ts';

const metadata = { message: '', $metadata: {} };
const cancelled = (...codes: string[]) =>
  new TransactionCanceledException({ ...metadata, CancellationReasons: codes.map((Code) => ({ Code })) });
const named = (name: string) => Object.assign(new Error(name), { name, $metadata: {} });

/** A table that answers with these, and then with the last of them for ever: an error is thrown. */
function answering(...answers: object[]): { table: Table; sent: { input: object }[] } {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'eu-west-1' }));
  const sent: { input: object }[] = [];
  const send = async (command: { input: object }) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)];
    sent.push(command);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { table: openTable({ registry: 'r', activity: 'a' }, Object.assign(client, { send })), sent };
}

const key = { pk: 'AGENT#a', sk: 'AGENT' };
const writes: Write[] = [{ put: key }, { check: { ...key, sk: 'b' }, when: [['exists', 'pk']] }, { delete: { ...key, sk: 'c' } }];
const [none, failed, conflict] = ['None', 'ConditionalCheckFailed', 'TransactionConflict'];

test.each<{ what: string; answers: object[]; outcome: unknown; times: number }>([
  { what: 'conditions that do not hold', answers: [cancelled(failed, none, failed)], outcome: [0, 2], times: 1 },
  { what: 'a conflict', answers: [cancelled(none, conflict, none), {}], outcome: true, times: 2 },
  {
    what: 'a conflict before a condition',
    answers: [cancelled(conflict, failed, none), cancelled(none, failed, none)],
    outcome: [1],
    times: 2,
  },
  { what: 'a conflict after a condition', answers: [cancelled(failed, none, conflict), {}], outcome: true, times: 2 },
  { what: 'too many requests', answers: [cancelled(none, 'ThrottlingError', none), {}], outcome: true, times: 2 },
  { what: 'no capacity', answers: [cancelled('ProvisionedThroughputExceeded', failed, none), {}], outcome: true, times: 2 },
  {
    what: 'one of these after the other',
    answers: [cancelled(none, none, 'ThrottlingError'), cancelled(conflict, none, none), {}],
    outcome: true,
    times: 3,
  },
  { what: 'the same transaction under way', answers: [named('TransactionInProgressException'), {}], outcome: true, times: 2 },
])('a transaction meets $what', async ({ answers, outcome, times }) => {
  const { table, sent } = answering(...answers);
  expect(await table.transact(writes)).toEqual(outcome);
  expect(sent).toHaveLength(times);
  expect(new Set(sent.map(({ input }) => JSON.stringify(input))).size).toBe(1);
});

test.each([
  ['an update that cannot be made', cancelled('ValidationError', none, none)],
  ['a token of another transaction', named('IdempotentParameterMismatchException')],
])('a transaction with %s is a fault of ours', async (_, error) => {
  const { table, sent } = answering(error);
  await expect(table.transact(writes)).rejects.toBe(error);
  expect(sent).toHaveLength(1);
});

const met = named('TransactionConflictException');
test.each<{ what: string; write: (table: Table) => Promise<unknown>; answer: object; outcome: unknown }>([
  { what: 'put', write: (table) => table.put(key), answer: {}, outcome: true },
  { what: 'update', write: (table) => table.update(key, { set: { a: 1 } }), answer: { Attributes: { a: 1 } }, outcome: { a: 1 } },
  { what: 'delete', write: (table) => table.delete(key), answer: new ConditionalCheckFailedException(metadata), outcome: false },
])('a plain $what that meets a transaction is sent again', async ({ write, answer, outcome }) => {
  const { table, sent } = answering(met, met, answer);
  expect(await write(table)).toEqual(outcome);
  expect(sent).toHaveLength(3);
});

test.each<[string, () => Promise<unknown>]>([
  ['with a transaction', () => answering(cancelled(none, conflict)).table.transact(writes)],
  ['with a transaction that is throttled', () => answering(cancelled('ThrottlingError', failed)).table.transact(writes)],
  ['with a write', () => answering(met).table.put(key)],
])('five seconds of conflicts %s are a 503 with Retry-After', async (_, write) => {
  let tookMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (tookMs += 500));
  await expect(write()).rejects.toMatchObject({
    name: 'ApiError',
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'There are too many concurrent changes. Try again after Retry-After.',
    headers: { 'Retry-After': '1' },
  });
  clock.mockRestore();
  expect(tookMs).toBeGreaterThanOrEqual(5_000);
  expect(tookMs).toBeLessThan(7_000);
});

const requestOf = (name: string) => ({ DeleteRequest: { Key: { ...key, sk: name } } });
const left = (...names: string[]) => ({ UnprocessedItems: { a: names.map(requestOf) } });
const deletes = ['1', '2', '3'].map((name) => ({ delete: { ...key, sk: name } }));

test.each<[title: string, answers: object[], sent: string[][]]>([
  ['is sent once if everything is written', [{}], [['1', '2', '3']]],
  ['is sent once if nothing is left, in so many words', [left()], [['1', '2', '3']]],
  ['is sent again with what is left', [left('2', '3'), left('3'), {}], [['1', '2', '3'], ['2', '3'], ['3']]],
  ['is sent again if nothing was written', [left('1', '2', '3'), left('1', '2', '3'), {}], new Array(3).fill(['1', '2', '3'])],
])('a batch of writes %s', async (_, answers, expected) => {
  const { table, sent } = answering(...answers);
  await table.writeAll(deletes);
  expect(sent.map(({ input }) => input)).toEqual(expected.map((names) => ({ RequestItems: { a: names.map(requestOf) } })));
});

test('a batch of which nothing is written ten times is a 503', async () => {
  const { table, sent } = answering(left('1', '2', '3'));
  await expect(table.writeAll(deletes)).rejects.toMatchObject({
    status: 503,
    message: 'The database of the gate is overloaded. Try again after Retry-After.',
  });
  expect(sent).toHaveLength(10);
});

test('no writes are no request', async () => {
  const { table, sent } = answering({});
  await table.writeAll([]);
  expect(sent).toEqual([]);
});

test.each(['TimeoutError', 'AbortError'])('a request that ends with a %s is a 503', async (name) => {
  const { table } = answering(Object.assign(new Error('no answer'), { name }));
  await expect(table.get(key)).rejects.toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
});

test('a request of an invocation that has ended is a 503, whatever it fails with', async () => {
  const controller = new AbortController();
  const { table } = answering(new Error('not sent'));
  const refused = withinInvocation(controller.signal, () => table.get(key));
  controller.abort();
  await expect(refused).rejects.toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
});

test('no key holds half of a character, wherever a long id is cut', () => {
  for (const first of ['', 'é']) expect(keys.idOfKey('t', first + '😀'.repeat(255)).sk.isWellFormed()).toBe(true);
});
