import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { createTables, startDynamo } from '../../../bin/local/table.ts';

const folder = mkdtempSync(join(tmpdir(), 'table-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const location = (endpoint: string) => ({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
const definition = {
  TableName: 'kept',
  BillingMode: 'PAY_PER_REQUEST' as const,
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' as const }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' as const }],
};

/** Writes endlessly, and prints each item once its write is acknowledged. */
const writer = `
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { createTables, startDynamo } from ${JSON.stringify(pathToFileURL(resolve('bin/local/table.ts')).href)};
const { endpoint } = await startDynamo(${JSON.stringify(folder)});
const location = { endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };
await createTables(location, [${JSON.stringify(definition)}]);
const client = new DynamoDBClient(location);
for (let n = 0; ; n++) {
  await client.send(new PutItemCommand({ TableName: 'kept', Item: { pk: { S: 'item ' + n } } }));
  process.stdout.write('item ' + n + '\\n');
}`;

test('every acknowledged write survives kill -9', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', writer], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.includes('item 100\n')) child.kill('SIGKILL');
  });
  await once(child, 'close');
  const acknowledged = output.split('\n').slice(0, -1);
  expect(acknowledged.length).toBeGreaterThan(100);

  const dynamo = await startDynamo(folder);
  const client = new DynamoDBClient(location(dynamo.endpoint));
  try {
    await createTables(location(dynamo.endpoint), [definition]);
    const { Items = [] } = await client.send(new ScanCommand({ TableName: 'kept' }));
    expect(Items.map(({ pk }) => pk?.S)).toEqual(expect.arrayContaining(acknowledged));
  } finally {
    client.destroy();
    await dynamo.stop();
  }
});
