import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { openTable, type Table } from '../../functions/core/store/table.ts';

/** Another client of an existing table, as another process would have. */
export const connectTable = (endpoint: string, tableName: string): Table =>
  openTable(
    tableName,
    DynamoDBDocumentClient.from(
      new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
      { marshallOptions: { removeUndefinedValues: true } },
    ),
  );
