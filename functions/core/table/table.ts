import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  type BatchWriteCommandOutput,
  DeleteCommand,
  type DeleteCommandInput,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { HttpResponse } from '@smithy/core/protocols';
import { unavailable } from '../api-error.ts';
import { awsClientSettings } from '../aws-client.ts';
import { readEnvironment } from '../environment.ts';
import { bounded, currentSignal } from '../invocation.ts';
import { LeanDynamoDBClient } from './dynamodb-client.ts';
import { type Key, type TableName, tableOf } from './keys.ts';
import { openTableClock, type TableClock } from './table-clock.ts';

export type Item = Record<string, unknown>;

type WithoutTable<T> = Omit<T, 'TableName'>;

/** A query of one partition. */
interface Query extends WithoutTable<Omit<QueryCommandInput, 'KeyConditionExpression'>> {
  /** condition on `sk`; all of the partition without it */
  range?: string;
}

type Condition = Pick<PutCommandInput, 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'>;

/** Longest that one operation may take with all its retries unless told otherwise, so that a request can say 503 within 3 seconds. */
const operationTimeoutMs = 2_500;

/** How often a batch is sent again for what the table did not get to, while it gets nowhere. */
const batchAttempts = 3;

const unprocessed = <T extends object>(left: T | undefined): T | undefined => (left && Object.keys(left).length > 0 ? left : undefined);

/**
 * Both tables; a key says which one holds it. Reads are strongly consistent; a write whose condition does not hold returns false instead
 * of throwing; a table that cannot be reached is ApiError SERVICE_UNAVAILABLE.
 */
export interface Table {
  /** what its answers tell of its time; none if it does not tell the time */
  readonly clock?: TableClock;
  get<T extends Item>(key: Key): Promise<T | undefined>;
  /** up to 100 items in one round trip, in the order of the keys */
  getAll<T extends Item>(keys: Key[]): Promise<(T | undefined)[]>;
  /** a page of a partition, in the order of `sk` */
  query<T extends Item>(pk: string, input?: Query): Promise<{ items: T[]; lastKey: Key | undefined }>;
  put(item: Key & Item, condition?: Condition): Promise<boolean>;
  update<T extends Item>(key: Key, input: Omit<WithoutTable<UpdateCommandInput>, 'Key'>): Promise<T | false>;
  delete(key: Key, condition?: Omit<WithoutTable<DeleteCommandInput>, 'Key'>): Promise<boolean>;
  /** any number of items, 25 in a round trip */
  deleteAll(keys: Key[]): Promise<void>;
}

/** The document client with bounded waits: a hung connection costs at most 2.5 seconds. `AWS_ENDPOINT_URL_DYNAMODB` redirects it. */
export const documentClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new LeanDynamoDBClient(awsClientSettings({ requestTimeout: 1_000 })), {
    marshallOptions: { removeUndefinedValues: true },
  });

/**
 * @param names - what the two tables are called in this deployment
 * @param timeoutMs - longest that one operation may take with all its retries
 */
export function openTable(
  names: Record<TableName, string>,
  client: DynamoDBDocumentClient = documentClient(),
  timeoutMs = operationTimeoutMs,
): Table {
  const reach = <T>(send: () => Promise<T>): Promise<T> => reachWithin(timeoutMs, send);
  const nameOf = ({ pk }: Key): string => names[tableOf(pk)];
  const clock = openTableClock();
  readDates(client, clock);

  /** `true` or the output where the write took place, `false` where its condition did not hold. */
  async function conditional<T>(write: () => Promise<T>): Promise<T | false> {
    try {
      return await reach(write);
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  async function getBatch(requested: Key[]): Promise<Item[]> {
    const found: Item[] = [];
    const byTable = Map.groupBy(requested, nameOf);
    let left: BatchGetCommandInput['RequestItems'] = Object.fromEntries(
      [...byTable].map(([name, Keys]) => [name, { Keys, ConsistentRead: true }]),
    );
    for (let attempt = 0; left; attempt++) {
      if (attempt === batchAttempts) throw unavailable('The registry is overloaded. Try again after Retry-After.');
      const requestItems: BatchGetCommandInput['RequestItems'] = left;
      const output: BatchGetCommandOutput = await reach(() => client.send(new BatchGetCommand({ RequestItems: requestItems })));
      const items = Object.values(output.Responses ?? {}).flat();
      found.push(...items);
      if (items.length > 0) attempt = -1;
      left = unprocessed(output.UnprocessedKeys);
    }
    return found;
  }

  async function deleteBatch(requested: Key[]): Promise<void> {
    let left: BatchWriteCommandInput['RequestItems'] = Object.fromEntries(
      [...Map.groupBy(requested, nameOf)].map(([name, some]) => [name, some.map((Key) => ({ DeleteRequest: { Key } }))]),
    );
    for (let attempt = 0; left; attempt++) {
      if (attempt === batchAttempts) throw unavailable('The registry is overloaded. Try again after Retry-After.');
      const requestItems: BatchWriteCommandInput['RequestItems'] = left;
      const output: BatchWriteCommandOutput = await reach(() => client.send(new BatchWriteCommand({ RequestItems: requestItems })));
      left = unprocessed(output.UnprocessedItems);
    }
  }

  return {
    clock,
    async get<T extends Item>(key: Key) {
      const output = await reach(() => client.send(new GetCommand({ TableName: nameOf(key), Key: key, ConsistentRead: true })));
      return output.Item as T | undefined;
    },
    async getAll<T extends Item>(requested: Key[]) {
      if (requested.length === 0) return [];
      const distinct = [...new Map(requested.map((key) => [`${key.pk}\n${key.sk}`, key])).values()];
      const found = new Map((await getBatch(distinct)).map((item) => [`${item.pk}\n${item.sk}`, item]));
      return requested.map(({ pk, sk }) => found.get(`${pk}\n${sk}`) as T | undefined);
    },
    async query<T extends Item>(pk: string, { range, ExpressionAttributeValues, ...input }: Query = {}) {
      const command = new QueryCommand({
        TableName: names[tableOf(pk)],
        ConsistentRead: true,
        KeyConditionExpression: `pk = :pk${range === undefined ? '' : ` AND ${range}`}`,
        ExpressionAttributeValues: { ':pk': pk, ...ExpressionAttributeValues },
        ...input,
      });
      const output = await reach(() => client.send(command));
      return { items: (output.Items ?? []) as T[], lastKey: output.LastEvaluatedKey as Key | undefined };
    },
    async put(item, condition = {}) {
      return Boolean(await conditional(() => client.send(new PutCommand({ TableName: nameOf(item), Item: item, ...condition }))));
    },
    async update<T extends Item>(key: Key, input: Omit<WithoutTable<UpdateCommandInput>, 'Key'>) {
      const output = await conditional(() => client.send(new UpdateCommand({ TableName: nameOf(key), Key: key, ...input })));
      return output && ((output.Attributes ?? {}) as T);
    },
    async delete(key, condition = {}) {
      return Boolean(await conditional(() => client.send(new DeleteCommand({ TableName: nameOf(key), Key: key, ...condition }))));
    },
    async deleteAll(requested) {
      for (let start = 0; start < requested.length; start += 25) await deleteBatch(requested.slice(start, start + 25));
    },
  };
}

/** Shows the clock every answer, also those that are errors. */
function readDates({ middlewareStack }: DynamoDBDocumentClient, clock: TableClock): void {
  middlewareStack.add(
    (next) => async (call) => {
      const sentMs = performance.now();
      const answer = await next(call);
      const { response } = answer;
      if (HttpResponse.isInstance(response)) clock.observe({ sentMs, receivedMs: performance.now(), headers: response.headers });
      return answer;
    },
    { step: 'deserialize', priority: 'low' },
  );
}

/** Errors that say that the request itself is wrong: a fault of ours, not of the table. */
const ours = new Set(['ValidationException', 'AccessDeniedException', 'ResourceNotFoundException', 'ConditionalCheckFailedException']);

/** Whether a request has gone out: the SDK adds `$metadata` to whatever came of it. What fails before, such as a value that no item can hold, is ours. */
const wasSent = (error: unknown): boolean =>
  error instanceof Error && ('$metadata' in error || error.name === 'TimeoutError' || error.name === 'AbortError');

async function reachWithin<T>(timeoutMs: number, send: () => Promise<T>): Promise<T> {
  try {
    return await bounded(timeoutMs, send);
  } catch (error) {
    const isOver = currentSignal()?.aborted ?? false;
    if (!isOver && (!wasSent(error) || (error instanceof Error && ours.has(error.name)))) throw error;
    throw unavailable('The registry cannot be reached. Try again after Retry-After.', error);
  }
}

/** The tables of this deployment. */
export function tableFromEnvironment(): Table {
  const { registryTable, activityTable } = readEnvironment(['registryTable', 'activityTable']);
  return openTable({ registry: registryTable, activity: activityTable });
}
