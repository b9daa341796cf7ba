import { CreateTableCommand, type DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';

/** What `aws dynamodb restore-table-to-point-in-time` does, for this moment: local tables have no such operation. */
export async function copyTable(client: Pick<DynamoDBClient, 'send'>, from: string, to: string): Promise<void> {
  await createTable(client, to);
  for (let start: Parameters<typeof scan>[2]; ; ) {
    const { Items = [], LastEvaluatedKey } = await scan(client, from, start);
    for (const Item of Items) await client.send(new PutItemCommand({ TableName: to, Item }));
    if (!LastEvaluatedKey) return;
    start = LastEvaluatedKey;
  }
}

const scan = (client: Pick<DynamoDBClient, 'send'>, TableName: string, ExclusiveStartKey?: ScanCommand['input']['ExclusiveStartKey']) =>
  client.send(new ScanCommand({ TableName, ConsistentRead: true, ExclusiveStartKey }));

/** An empty table with these keys. */
export async function createTable(client: Pick<DynamoDBClient, 'send'>, name: string, [hash, range] = ['pk', 'sk']): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: hash, AttributeType: 'S' },
        { AttributeName: range, AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: hash, KeyType: 'HASH' },
        { AttributeName: range, KeyType: 'RANGE' },
      ],
    }),
  );
}
