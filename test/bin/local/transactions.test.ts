import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, ScanCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createTables, startDynamo } from '../../../bin/local/table.ts';
import { awsClientSettings } from '../../../functions/core/aws/aws-client.ts';
import { makeFolder } from '../../support/folder.ts';
import { seededRandom } from '../../support/random.ts';
import { startTable } from '../../support/table.ts';

const { client, endpoint, stop, table, tableNames } = await startTable();
afterAll(stop);

const folder = makeFolder();
const { activity } = tableNames;
const location = { endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 1 };
const newClient = (place = location) => new DynamoDBClient({ ...awsClientSettings(60_000, 1), ...place });
const documents = DynamoDBDocumentClient.from(newClient());
afterAll(() => documents.destroy());

type Actions = NonNullable<TransactWriteCommand['input']['TransactItems']>;
const at = (sk: string) => ({ pk: 'AGENT#test', sk });
const put = (sk: string, more = {}) => ({ Put: { TableName: activity, Item: { ...at(sk), ...more } } });
const count = (sk: string) => ({
  TableName: activity,
  Key: at(sk),
  UpdateExpression: 'ADD n :one',
  ExpressionAttributeValues: { ':one': 1 },
});
const transact = (TransactItems: Actions, ClientRequestToken?: string) =>
  documents.send(new TransactWriteCommand({ TransactItems, ClientRequestToken }));
const read = async (sk: string) => (await documents.send(new GetCommand({ TableName: activity, Key: at(sk), ConsistentRead: true }))).Item;

/** The name of the error, and the codes of its reasons; `done` if there is none. */
const outcomeOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'done',
    (error) => [error.name, ...(error.CancellationReasons ?? []).map(({ Code }: { Code: string }) => Code)].join(' '),
  );

/** Starts many in parallel until one has the wanted outcome, because a collision is likely but not certain. */
async function untilSome(wanted: string | RegExp, start: () => Promise<unknown>[]): Promise<string[]> {
  for (let tries = 0; tries < 50; tries++) {
    const outcomes = await Promise.all(start().map(outcomeOf));
    if (outcomes.some((outcome) => outcome.match(wanted))) return outcomes;
  }
  throw new Error(`nothing came to ${wanted}`);
}

afterEach(async () => {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: activity }));
  await Promise.all(Items.map(({ pk, sk }) => table.delete({ pk: String(pk), sk: String(sk) })));
});

test('a cancelled transaction gives reasons in the order of the actions, and writes nothing', async () => {
  await documents.send(new PutCommand({ TableName: activity, Item: { ...at('b'), text: 'x' } }));
  const isAbsent = { ConditionExpression: 'attribute_not_exists(pk)' };
  const sent = transact([
    put('a'),
    { Put: { TableName: activity, Item: at('b'), ...isAbsent } },
    { Update: { TableName: activity, Key: at('c'), UpdateExpression: 'SET a = b' } },
    { ConditionCheck: { TableName: activity, Key: at('d'), ConditionExpression: 'attribute_exists(pk)' } },
    { Delete: { TableName: activity, Key: at('e'), ...isAbsent } },
  ]);
  await expect(sent).rejects.toMatchObject({
    name: 'TransactionCanceledException',
    $metadata: { httpStatusCode: 400 },
    message: expect.stringMatching(/\[None, ConditionalCheckFailed, ValidationError, ConditionalCheckFailed, None\]$/),
    CancellationReasons: [
      { Code: 'None' },
      { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' },
      { Code: 'ValidationError', Message: expect.stringMatching('an attribute that does not exist') },
      { Code: 'ConditionalCheckFailed' },
      { Code: 'None' },
    ],
  });
  expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(read))).toEqual([undefined, { ...at('b'), text: 'x' }, ...Array(3)]);
});

describe('conflicts', () => {
  test('a conflict of transactions names the item, and one of the transactions succeeds', async () => {
    const outcomes = await untilSome('Conflict', () => [0, 1, 2].map((n) => transact([put(`own ${n}`), { Update: count('head') }])));
    expect(new Set(outcomes)).toEqual(new Set(['done', 'TransactionCanceledException None TransactionConflict']));
  });

  test('transactions in conflict are retried until all writes have succeeded', async () => {
    const each = 10;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < each; n++) {
        if (writer % 4 === 0) await table.update(at('head'), { add: [['n', 1]] });
        else
          await table.transact([
            { update: at('head'), add: [['n', 1]] },
            { put: at(`${writer} ${n}`), when: [['absent', 'pk']] },
          ]);
      }
    });
    await Promise.all(writers);
    expect(await read('head')).toMatchObject({ n: 8 * each });
    expect((await table.query(at('').pk)).items).toHaveLength(1 + 6 * each);
  });
});

describe('tokens', () => {
  test('a token makes a repeated transaction take effect once', async () => {
    await transact([{ Update: count('a') }], 'once');
    await transact([{ Update: count('a') }], 'once');
    expect(await read('a')).toMatchObject({ n: 1 });
    expect(await outcomeOf(transact([{ Update: count('b') }], 'once'))).toBe('IdempotentParameterMismatchException');
  });

  test('the token of a cancelled transaction can be used again', async () => {
    const actions = () => [{ Update: { ...count('a'), ConditionExpression: 'attribute_exists(pk)' } }];
    expect(await outcomeOf(transact(actions(), 'again'))).toMatch('ConditionalCheckFailed');
    await documents.send(new PutCommand({ TableName: activity, Item: at('a') }));
    expect(await outcomeOf(transact(actions(), 'again'))).toBe('done');
  });
});

const some = (length: number, more = {}) => Array.from({ length }, (_, n) => put(`item ${n}`, more));

test.each<[string, Actions, string]>([
  ['100 actions', some(100), 'done'],
  ['101 actions', some(101), 'ValidationException'],
  ['no action', [], 'ValidationException'],
  ['an invalid action', [{}], 'ValidationException'],
  ['one item twice', [put('a'), { Delete: { TableName: activity, Key: at('a') } }], 'ValidationException'],
  ['more than 4 MB', some(11, { text: 'x'.repeat(390_000) }), 'ValidationException'],
  ['an item of more than 400 KB', some(1, { text: 'x'.repeat(410_000) }), 'ValidationException'],
  ['an invalid key', [{ Delete: { TableName: activity, Key: { pk: 'AGENT#test' } } }], 'ValidationException'],
  ['an unknown table', [{ Delete: { TableName: 'none', Key: at('a') } }], 'ResourceNotFoundException'],
])('a transaction of %s succeeds or is refused as by DynamoDB', async (_, actions, outcome) => {
  expect(await outcomeOf(transact(actions))).toBe(outcome);
  if (outcome !== 'done') expect((await table.query(at('').pk)).items).toEqual([]);
});

/** Makes transactions without end, each of which gives all items of a group the same number, and prints the acknowledged ones. */
const writer = (folder: string) => `
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { startDynamo } from ${JSON.stringify(pathToFileURL(resolve('bin/local/table.ts')).href)};
const { endpoint } = await startDynamo(${JSON.stringify(folder)});
const client = DynamoDBDocumentClient.from(new DynamoDBClient({ ...${JSON.stringify(location)}, endpoint }));
await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(async (group) => {
  for (let n = Date.now(); ; n++) {
    const put = (TableName, sk) => ({ Put: { TableName, Item: { pk: 'group ' + group, sk: String(sk), n } } });
    await client.send(new TransactWriteCommand({ TransactItems: [0, 1, 2, 3, 4].map((sk) => put(sk % 2 ? 'one' : 'two', sk)), ClientRequestToken: group + ' ' + n }));
    process.stdout.write(group + ' ' + n + '\\n');
  }
}));`;

test('kill -9 leaves nothing half-written, and forgets nothing that was acknowledged', async () => {
  const random = seededRandom(Date.now());
  const keySchema = { pk: 'HASH', sk: 'RANGE' } as const;
  const definitions = ['one', 'two'].map((TableName) => ({
    TableName,
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: Object.keys(keySchema).map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
    KeySchema: Object.entries(keySchema).map(([AttributeName, KeyType]) => ({ AttributeName, KeyType })),
  }));
  const open = async () => {
    const dynamo = await startDynamo(folder);
    const kept = DynamoDBDocumentClient.from(newClient({ ...location, endpoint: dynamo.endpoint }));
    await createTables({ ...location, endpoint: dynamo.endpoint }, definitions);
    return { dynamo, kept };
  };
  await (await open()).dynamo.stop();
  const child = spawn(process.execPath, ['--input-type=module', '-e', writer(folder)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const enough = 50 + random() * 200;
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.split('\n').length > enough) child.kill('SIGKILL');
  });
  await once(child, 'close');
  const acknowledged = output
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').map(Number) as [number, number]);
  const last = new Map(acknowledged);

  const { dynamo, kept } = await open();
  try {
    const items = await Promise.all(['one', 'two'].map(async (TableName) => (await kept.send(new ScanCommand({ TableName }))).Items ?? []));
    for (const [group, n] of last) {
      const written = items
        .flat()
        .filter(({ pk }) => pk === `group ${group}`)
        .map((item) => item.n);
      expect(written).toHaveLength(5);
      expect(new Set(written).size).toBe(1);
      expect(written[0]).toBeGreaterThanOrEqual(n);
      expect(written[0]).toBeLessThanOrEqual(n + 1);
    }
    const [[group, n] = [0, 0]] = last;
    const other = { TransactItems: [{ Delete: { TableName: 'one', Key: { pk: 'x', sk: 'x' } } }], ClientRequestToken: `${group} ${n}` };
    expect(await outcomeOf(kept.send(new TransactWriteCommand(other)))).toBe('IdempotentParameterMismatchException');
  } finally {
    kept.destroy();
    await dynamo.stop();
  }
}, 60_000);
