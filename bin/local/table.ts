import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  type DynamoDBClientConfig,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { withCompileCache } from './synthesis.ts';

/**
 * Starts dynalite in its own thread, so that it and the gateway do not block each other.
 * @param folder - stores the items; default: in memory. Writes are passed to the operating system before they are acknowledged, so they
 *   survive a crash of the process, but not a power failure.
 * @throws Error if the folder is in use by another process
 */
export async function startDynamo(folder?: string) {
  const worker = new Worker(fileURLToPath(new URL('./table-worker.ts', import.meta.url)), {
    workerData: { folder },
    env: { AWS_REGION: 'eu-west-1', ...withCompileCache },
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const [endpoint] = (await once(worker, 'message')) as [string];
  const stop = async () => {
    const ended = once(worker, 'exit');
    worker.postMessage('stop');
    await ended;
  };
  return { endpoint, stop };
}

/**
 * Creates missing tables, and waits until they can be used.
 * @returns whether all of them were missing
 */
export async function createTables(location: DynamoDBClientConfig, tables: CreateTableCommandInput[]): Promise<boolean> {
  const client = new DynamoDBClient({ ...location, maxAttempts: 3, requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000 } });
  try {
    const created = await Promise.all(
      tables.map(async (table) => {
        const isNew = await client.send(new CreateTableCommand(table)).then(
          () => true,
          (error) => {
            if (!(error instanceof ResourceInUseException)) throw error;
            return false;
          },
        );
        await waitUntilTableExists({ client, minDelay: 0.2, maxDelay: 0.2, maxWaitTime: 60 }, { TableName: table.TableName });
        return isNew;
      }),
    );
    return created.every((isNew) => isNew);
  } finally {
    client.destroy();
  }
}
