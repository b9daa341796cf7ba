import { createTable } from '../local/table.ts';

/** The table of a benchmark, and what reads and writes it. */
export const benchTable = {
  name: 'bench',
  region: 'eu-west-1',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
};

export const createBenchTable = (endpoint: string): Promise<void> =>
  createTable(
    { endpoint, region: benchTable.region, credentials: benchTable.credentials },
    {
      TableName: benchTable.name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    },
  );
