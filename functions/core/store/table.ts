import {
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  type BatchGetItemCommandOutput,
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  type BatchWriteItemCommandOutput,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandInput,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { unavailable } from '../api-error.ts';
import { awsClientSettings } from '../aws-client.ts';
import { readEnvironment } from '../environment.ts';
import { bounded } from '../invocation.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;

/** An expression's values as they are, without DynamoDB's types around them. */
type Native<T> = Omit<T, 'TableName' | 'Key' | 'ExpressionAttributeValues' | 'ExclusiveStartKey'> & {
  ExpressionAttributeValues?: Record<string, unknown>;
};
type Page<T> = Native<T> & { ExclusiveStartKey?: Key | undefined };
type Condition = Native<Pick<UpdateItemCommandInput, 'ConditionExpression' | 'ExpressionAttributeNames'>>;

/** Longest that one operation may take with all its retries, so that a request can say 503 within 3 seconds. */
const operationTimeoutMs = 2_500;

/** How often a batch is sent again for what the table did not get to, while it gets nowhere. */
const batchAttempts = 3;

const unprocessed = <T extends object>(left: T | undefined): T | undefined => (left && Object.keys(left).length > 0 ? left : undefined);

/**
 * The one table. Reads are strongly consistent; a write whose condition does not hold returns false instead of throwing;
 * a table that cannot be reached is ApiError SERVICE_UNAVAILABLE.
 */
export interface Table {
  get<T extends Item>(key: Key): Promise<T | undefined>;
  /** up to 100 items in one round trip, in the order of the keys */
  getAll<T extends Item>(keys: Key[]): Promise<(T | undefined)[]>;
  query<T extends Item>(input: Page<QueryCommandInput>): Promise<{ items: T[]; lastKey: Key | undefined; count: number }>;
  scan<T extends Item>(input: Page<ScanCommandInput>): Promise<{ items: T[]; lastKey: Key | undefined }>;
  put(item: Key & Item, condition?: Condition): Promise<boolean>;
  update<T extends Item>(key: Key, input: Native<UpdateItemCommandInput>): Promise<T | false>;
  delete(key: Key, condition?: Condition): Promise<boolean>;
  /** any number of items, 25 in a round trip */
  deleteAll(keys: Key[]): Promise<void>;
}

/**
 * The client with bounded waits: a hung connection costs at most 2.5 seconds. `AWS_ENDPOINT_URL_DYNAMODB` redirects it.
 * `cacheMiddleware`: what a command has to pass is put together once, since nothing is ever added to it.
 */
export const dynamoClient = (): DynamoDBClient =>
  new DynamoDBClient({ ...awsClientSettings({ requestTimeout: 1_000 }), cacheMiddleware: true });

const toAttributes = (value: Record<string, unknown>) => marshall(value, { removeUndefinedValues: true });

/** An input with its values in DynamoDB's form. */
const toInput = <T extends { ExpressionAttributeValues?: Record<string, unknown>; ExclusiveStartKey?: Key | undefined }>({
  ExpressionAttributeValues: values,
  ExclusiveStartKey: start,
  ...rest
}: T) => ({
  ...rest,
  ...(values && { ExpressionAttributeValues: toAttributes(values) }),
  ...(start && { ExclusiveStartKey: toAttributes({ ...start }) }),
});

export function openTable(tableName: string, client: DynamoDBClient = dynamoClient()): Table {
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
    let left: BatchGetItemCommandInput['RequestItems'] = {
      [tableName]: { Keys: requested.map((key) => toAttributes({ ...key })), ConsistentRead: true },
    };
    for (let attempt = 0; left; attempt++) {
      if (attempt === batchAttempts) throw unavailable('The registry is overloaded. Try again after Retry-After.');
      const requestItems: BatchGetItemCommandInput['RequestItems'] = left;
      const output: BatchGetItemCommandOutput = await reach(() => client.send(new BatchGetItemCommand({ RequestItems: requestItems })));
      const items = output.Responses?.[tableName] ?? [];
      found.push(...items.map((item) => unmarshall(item)));
      if (items.length > 0) attempt = -1;
      left = unprocessed(output.UnprocessedKeys);
    }
    return found;
  }

  async function deleteBatch(requested: Key[]): Promise<void> {
    let left: BatchWriteItemCommandInput['RequestItems'] = {
      [tableName]: requested.map((key) => ({ DeleteRequest: { Key: toAttributes({ ...key }) } })),
    };
    for (let attempt = 0; left; attempt++) {
      if (attempt === batchAttempts) throw unavailable('The registry is overloaded. Try again after Retry-After.');
      const requestItems: BatchWriteItemCommandInput['RequestItems'] = left;
      const output: BatchWriteItemCommandOutput = await reach(() => client.send(new BatchWriteItemCommand({ RequestItems: requestItems })));
      left = unprocessed(output.UnprocessedItems);
    }
  }

  const toPage = <T extends Item>({ Items = [], LastEvaluatedKey }: Pick<QueryCommandOutput, 'Items' | 'LastEvaluatedKey'>) => ({
    items: Items.map((item) => unmarshall(item) as T),
    lastKey: LastEvaluatedKey && (unmarshall(LastEvaluatedKey) as Key),
  });

  return {
    async get<T extends Item>(key: Key) {
      const input = { TableName: tableName, Key: toAttributes({ ...key }), ConsistentRead: true };
      const { Item } = await reach(() => client.send(new GetItemCommand(input)));
      return Item && (unmarshall(Item) as T);
    },
    async getAll<T extends Item>(requested: Key[]) {
      const distinct = [...new Map(requested.map((key) => [`${key.pk}\n${key.sk}`, key])).values()];
      const found = new Map((await getBatch(distinct)).map((item) => [`${item.pk}\n${item.sk}`, item]));
      return requested.map(({ pk, sk }) => found.get(`${pk}\n${sk}`) as T | undefined);
    },
    async query<T extends Item>(input: Page<QueryCommandInput>) {
      const output = await reach(() => client.send(new QueryCommand({ TableName: tableName, ConsistentRead: true, ...toInput(input) })));
      return { ...toPage<T>(output), count: output.Count ?? 0 };
    },
    async scan<T extends Item>(input: Page<ScanCommandInput>) {
      return toPage<T>(await reach(() => client.send(new ScanCommand({ TableName: tableName, ConsistentRead: true, ...toInput(input) }))));
    },
    async put(item, condition = {}) {
      const input = { TableName: tableName, Item: toAttributes(item), ...toInput(condition) };
      return Boolean(await conditional(() => client.send(new PutItemCommand(input))));
    },
    async update<T extends Item>(key: Key, input: Native<UpdateItemCommandInput>) {
      const command = { TableName: tableName, Key: toAttributes({ ...key }), ...toInput(input) };
      const output = await conditional(() => client.send(new UpdateItemCommand(command)));
      return output && (unmarshall(output.Attributes ?? {}) as T);
    },
    async delete(key, condition = {}) {
      const input = { TableName: tableName, Key: toAttributes({ ...key }), ...toInput(condition) };
      return Boolean(await conditional(() => client.send(new DeleteItemCommand(input))));
    },
    async deleteAll(requested) {
      for (let start = 0; start < requested.length; start += 25) await deleteBatch(requested.slice(start, start + 25));
    },
  };
}

/** Errors that say that the request itself is wrong: a fault of ours, not of the table. */
const ours = new Set(['ValidationException', 'AccessDeniedException', 'ResourceNotFoundException', 'ConditionalCheckFailedException']);

async function reach<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await bounded(operationTimeoutMs, send);
  } catch (error) {
    if (error instanceof Error && ours.has(error.name)) throw error;
    throw unavailable('The registry cannot be reached. Try again after Retry-After.', error);
  }
}

/** The table of this deployment. */
export const tableFromEnvironment = (): Table => openTable(readEnvironment(['table']).table);
