import type { AddressInfo } from 'node:net';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { serveTables } from '../../bin/local/transactions.ts';
import { LeanDynamoDBClient } from '../../functions/core/table/dynamodb-client.ts';
import type { TableName } from '../../functions/core/table/keys.ts';
import { openTable, type Table } from '../../functions/core/table/table.ts';

export interface TestTable {
  table: Table;
  client: DynamoDBDocumentClient;
  tableNames: Record<TableName, string>;
  /** every DynamoDB operation that was sent, by name, in order; clear it with `length = 0` */
  operations: string[];
  /** the read units of every read, in order; clear it with `length = 0` */
  readUnits: number[];
  endpoint: string;
  stop(): Promise<void>;
}

/** On a busy machine, a burst of a few hundred operations takes long; tests are about what becomes of them. */
const patienceMs = 60_000;

/** A fresh, real table (dynalite, in memory) on a loopback port of its own. */
export async function startTable(): Promise<TestTable> {
  const server = serveTables({});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const operations: string[] = [];
  server.on('request', ({ headers }) => operations.push(String(headers['x-amz-target']).split('.').at(-1) ?? ''));
  const raw = new LeanDynamoDBClient({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: { connectionTimeout: patienceMs, requestTimeout: patienceMs },
  });
  const tableNames = { registry: 'test-registry', activity: 'test-activity' };
  for (const name of Object.values(tableNames)) {
    await raw.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'sk', AttributeType: 'S' },
        ],
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      }),
    );
  }
  const readUnits: number[] = [];
  raw.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (call) => {
        if (!/Get|Query/.test(commandName)) return next(call);
        const { input } = call as { input: object };
        const answer = await next({ ...call, input: { ...input, ReturnConsumedCapacity: 'TOTAL' } } as typeof call);
        const { ConsumedCapacity: consumed } = answer.output as {
          ConsumedCapacity?: { CapacityUnits: number } | { CapacityUnits: number }[];
        };
        for (const { CapacityUnits } of [consumed ?? []].flat()) readUnits.push(CapacityUnits);
        return answer;
      },
    { step: 'initialize' },
  );
  const client = DynamoDBDocumentClient.from(raw, { marshallOptions: { removeUndefinedValues: true } });
  const stop = () =>
    new Promise<void>((resolve) => {
      raw.destroy();
      server.closeAllConnections();
      server.close(() => resolve());
    });
  operations.length = 0;
  return { table: openTable(tableNames, client, patienceMs), client, tableNames, operations, readUnits, endpoint, stop };
}
