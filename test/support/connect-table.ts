import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { awsClientSettings } from '../../functions/core/aws/aws-client.ts';
import type { TableName } from '../../functions/core/table/keys.ts';
import { openTable, type Table } from '../../functions/core/table/table.ts';

/** Another client of existing tables, as another process would have. */
export const connectTable = (endpoint: string, tableNames: Record<TableName, string>): Table =>
  openTable(
    tableNames,
    DynamoDBDocumentClient.from(
      new DynamoDBClient({
        ...awsClientSettings(60_000),
        endpoint,
        region: 'eu-west-1',
        credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      }),
      { marshallOptions: { removeUndefinedValues: true } },
    ),
  );
