import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { openTable, type Table } from '../../functions/core/store/table.ts';

/** Another client of a table that stands already, as another process would have it. */
export const connectTable = (endpoint: string, tableName: string): Table =>
  openTable(
    tableName,
    new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
  );
