import { Agent } from 'node:https';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openTable, type Table } from '../../functions/core/table/table.ts';
import { createTable } from '../support/copy-table.ts';
import { startTable, type TestTable } from '../support/table.ts';
import { openMemoryTable } from '../world/memory-table.ts';
import { play, steps } from '../world/table-steps.ts';
import { credentials, type Emulator, installEmulator, region, startEmulator } from './emulator.ts';

const names = { registry: 'compared-registry', activity: 'compared-activity' };
let emulator: Emulator;
let client: DynamoDBClient;
let emulated: Table;
let local: TestTable;

beforeAll(async () => {
  await installEmulator();
  [emulator, local] = await Promise.all([startEmulator(() => ({})), startTable()]);
  client = new DynamoDBClient({
    endpoint: `https://localhost:${emulator.port}`,
    region,
    credentials,
    requestHandler: { httpsAgent: new Agent({ keepAlive: true, rejectUnauthorized: false }) },
  });
  for (const name of Object.values(names)) await createTable(client, name);
  emulated = openTable(names, DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } }), 60_000);
}, 300_000);
afterAll(async () => {
  client?.destroy();
  await Promise.all([emulator?.stop(), local?.stop()]);
});

test('the local table and the table in memory do what the emulator does', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const theirs = await play(emulated, all);
      expect(await play(local.table, all)).toEqual(theirs);
      expect(await play(openMemoryTable(), all)).toEqual(theirs);
    }),
    { numRuns: 200 },
  );
}, 300_000);
