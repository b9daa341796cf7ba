import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { openTable, type Table } from '../../functions/core/store/table.ts';

export interface TestTable {
  table: Table;
  client: DynamoDBDocumentClient;
  tableName: string;
  /** every DynamoDB operation that was sent, by name, in order; clear it with `length = 0` */
  operations: string[];
  endpoint: string;
  stop(): Promise<void>;
}

/** A fresh, real table (dynalite, in memory) on a loopback port of its own. */
export async function startTable(): Promise<TestTable> {
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const operations: string[] = [];
  server.on('request', ({ headers }) => operations.push(String(headers['x-amz-target']).split('.').at(-1) ?? ''));
  const raw = new DynamoDBClient({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 10_000 },
  });
  const tableName = 'test';
  await raw.send(
    new CreateTableCommand({
      TableName: tableName,
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
  const client = DynamoDBDocumentClient.from(raw, { marshallOptions: { removeUndefinedValues: true } });
  const stop = () =>
    new Promise<void>((resolve) => {
      raw.destroy();
      server.closeAllConnections();
      server.close(() => resolve());
    });
  operations.length = 0;
  return { table: openTable(tableName, raw), client, tableName, operations, endpoint, stop };
}
