import { variables } from '../../functions/core/environment.ts';
import { createTables } from '../local/table.ts';

/** The tables of a benchmark, and what reads and writes them. */
export const benchTable = {
  names: { registry: 'bench-registry', activity: 'bench-activity' },
  region: 'eu-west-1',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
};

export const createBenchTable = (endpoint: string): Promise<void> =>
  createTables(
    { endpoint, region: benchTable.region, credentials: benchTable.credentials },
    Object.values(benchTable.names).map((TableName) => ({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    })),
  );

/** What a function finds the tables of a benchmark by. */
export const tableVariables = {
  [variables.registryTable]: benchTable.names.registry,
  [variables.activityTable]: benchTable.names.activity,
};
