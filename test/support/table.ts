import { DescribeTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { openTable } from '../../functions/core/table/table.ts';
import { createTable } from './copy-table.ts';
import { startTableServer } from './table-server.ts';

export type TestTable = Awaited<ReturnType<typeof startTable>>;

/** On a busy machine, a burst of a few hundred operations takes long; tests are about what becomes of them. */
const patienceMs = 60_000;

/** A fresh, real table (dynalite, in memory), which is served on a loopback port, too. */
export async function startTable() {
  const { endpoint, operations, handle, stop: stopServer } = await startTableServer();
  const raw = new DynamoDBClient({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: { handle } as unknown as NonNullable<DynamoDBClientConfig['requestHandler']>,
  });
  const tableNames = { registry: 'test-registry', activity: 'test-activity' };
  for (const name of Object.values(tableNames)) await createTable(raw, name);
  const isActive = async (TableName: string) => (await raw.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus === 'ACTIVE';
  for (const name of Object.values(tableNames)) while (!(await isActive(name)));
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
  const stop = async () => {
    raw.destroy();
    await stopServer();
  };
  operations.length = 0;
  return {
    table: openTable(tableNames, client, patienceMs),
    client,
    tableNames,
    /** every DynamoDB operation that was sent, by name, in order; clear it with `length = 0` */
    operations,
    /** the read units of every read, in order; clear it with `length = 0` */
    readUnits,
    endpoint,
    stop,
  };
}
