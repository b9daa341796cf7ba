import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException, DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { HttpResponse } from '@smithy/core/protocols';
import { awsClientSettings } from '../aws/aws-client.ts';
import { unavailable } from '../runtime/api-error.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { type Conditional, compileConditions, compileUpdate, type Update } from './expression.ts';
import { type Key, type TableName, tableOf } from './keys.ts';
import { backOff, type Pause, reachWithin, retryConflicts } from './retry.ts';
import { openTableClock, type TableClock } from './table-clock.ts';

export type Item = Record<string, unknown>;

/** A query of one partition, in the byte order of `sk`. */
export interface Query {
  /** restricts `sk` by a prefix or a comparison */
  range?: readonly ['<' | '<=' | '>' | '>=' | 'begins', string] | undefined;
  isBackward?: boolean | undefined;
  limit?: number | undefined;
  start?: Key | undefined;
}

/** One write of a transaction; `check` only has conditions. */
export type Write =
  | ({ put: Key & Item } & Conditional)
  | ({ update: Key } & Update)
  | ({ delete: Key } & Conditional)
  | ({ check: Key } & Conditional);

/** One write of a batch. */
export type BatchedWrite = { put: Key & Item } | { delete: Key };

/** Time limit of one request with the SDK's retries, in milliseconds; those after conflicts of transactions come on top (`retry.ts`). */
const operationTimeoutMs = 2_500;

/** Maximum number of consecutive responses to a batch in which nothing was read or written. Only functions of the background write batches. */
const [batchAttempts, batchWriteAttempts] = [3, 10];

const overloaded = () => unavailable('The database of the gate is overloaded. Try again after Retry-After.');

const unprocessed = <T extends object>(left: T | undefined): T | undefined => (left && Object.keys(left).length > 0 ? left : undefined);

/**
 * Both tables; the key's prefix selects one. Reads are strongly consistent. A write whose conditions do not hold returns false. Operations throw ApiError
 * SERVICE_UNAVAILABLE if the table cannot be reached, or after five seconds of conflicts with transactions.
 */
export interface Table {
  readonly clock?: TableClock;
  /** overrides {@link backOff}, for tests */
  readonly pause?: Pause;
  get<T extends Item>(key: Key): Promise<T | undefined>;
  /** up to 100 items in one round trip, in the order of the keys */
  getAll<T extends Item>(keys: readonly Key[]): Promise<(T | undefined)[]>;
  query<T extends Item>(pk: string, input?: Query): Promise<{ items: T[]; lastKey: Key | undefined }>;
  put(item: Key & Item, condition?: Conditional): Promise<boolean>;
  /** @returns the updated item, which is empty if `isQuiet` */
  update<T extends Item>(key: Key, update: Update & { isQuiet?: true }): Promise<T | false>;
  delete(key: Key, condition?: Conditional): Promise<boolean>;
  /** Up to 25 unconditional writes to distinct items in one round trip. After a failure, some of them may have been made. */
  writeAll(writes: readonly BatchedWrite[]): Promise<void>;
  /**
   * Makes up to 100 writes to distinct items of both tables, or none of them.
   * @param token - idempotency token of up to 36 characters: within ten minutes, a transaction with the same token is executed once
   * @returns true, or the indexes of the writes whose conditions do not hold
   */
  transact(writes: readonly Write[], token?: string): Promise<true | number[]>;
}

/** A client whose tries may each be silent for a second. */
const documentClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient(awsClientSettings(1_000)), { marshallOptions: { removeUndefinedValues: true } });

/**
 * @param names - names of the two tables in this deployment
 * @param timeoutMs - time limit of one operation with all its retries, in milliseconds
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

  async function conditional<T>(write: () => Promise<T>): Promise<T | false> {
    try {
      return await retryConflicts(() => reach(write));
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  async function getBatch(requested: readonly Key[]): Promise<Item[]> {
    const found: Item[] = [];
    const byTable = Map.groupBy(requested, nameOf);
    let left: BatchGetCommandInput['RequestItems'] = Object.fromEntries(
      [...byTable].map(([name, Keys]) => [name, { Keys, ConsistentRead: true }]),
    );
    for (let attempt = 0; left; attempt++) {
      if (attempt === batchAttempts) throw overloaded();
      const requestItems: BatchGetCommandInput['RequestItems'] = left;
      const output: BatchGetCommandOutput = await reach(() => client.send(new BatchGetCommand({ RequestItems: requestItems })));
      const items = Object.values(output.Responses ?? {}).flat();
      found.push(...items);
      if (items.length > 0) attempt = -1;
      left = unprocessed(output.UnprocessedKeys);
    }
    return found;
  }

  return {
    clock,
    async get<T extends Item>(key: Key) {
      const output = await reach(() => client.send(new GetCommand({ TableName: nameOf(key), Key: key, ConsistentRead: true })));
      return output.Item as T | undefined;
    },
    async getAll<T extends Item>(requested: readonly Key[]) {
      if (requested.length === 0) return [];
      const distinct = [...new Map(requested.map((key) => [`${key.pk}\n${key.sk}`, key])).values()];
      const found = new Map((await getBatch(distinct)).map((item) => [`${item.pk}\n${item.sk}`, item]));
      return requested.map(({ pk, sk }) => found.get(`${pk}\n${sk}`) as T | undefined);
    },
    async query<T extends Item>(pk: string, { range, isBackward, limit, start }: Query = {}) {
      const command = new QueryCommand({
        TableName: names[tableOf(pk)],
        ConsistentRead: true,
        KeyConditionExpression: `pk = :pk${range ? ` AND ${range[0] === 'begins' ? 'begins_with(sk, :sk)' : `sk ${range[0]} :sk`}` : ''}`,
        ExpressionAttributeValues: { ':pk': pk, ...(range && { ':sk': range[1] }) },
        ...(isBackward && { ScanIndexForward: false }),
        Limit: limit,
        ExclusiveStartKey: start,
      });
      const output = await reach(() => client.send(command));
      return { items: (output.Items ?? []) as T[], lastKey: output.LastEvaluatedKey as Key | undefined };
    },
    async put(item, condition = {}) {
      const command = new PutCommand({ TableName: nameOf(item), Item: item, ...compileConditions(condition) });
      return Boolean(await conditional(() => client.send(command)));
    },
    async update<T extends Item>(key: Key, { isQuiet, ...update }: Update & { isQuiet?: true }) {
      const returned = isQuiet ? 'NONE' : 'ALL_NEW';
      const command = new UpdateCommand({ TableName: nameOf(key), Key: key, ...compileUpdate(update), ReturnValues: returned });
      const output = await conditional(() => client.send(command));
      return output && ((output.Attributes ?? {}) as T);
    },
    async delete(key, condition = {}) {
      const command = new DeleteCommand({ TableName: nameOf(key), Key: key, ...compileConditions(condition) });
      return Boolean(await conditional(() => client.send(command)));
    },
    async writeAll(writes) {
      const keyOf = (write: BatchedWrite): Key => ('put' in write ? write.put : write.delete);
      const requests = Map.groupBy(writes, (write) => nameOf(keyOf(write)));
      let left: BatchWriteCommandInput['RequestItems'] = Object.fromEntries(
        [...requests].map(([name, own]) => [
          name,
          own.map((write) => ('put' in write ? { PutRequest: { Item: write.put } } : { DeleteRequest: { Key: write.delete } })),
        ]),
      );
      const count = () => Object.values(left ?? {}).reduce((sum, some) => sum + some.length, 0);
      for (let attempt = 0; count() > 0; attempt++) {
        if (attempt === batchWriteAttempts) throw overloaded();
        if (attempt > 0) await backOff(attempt, 0);
        const before = count();
        const command: BatchWriteCommand = new BatchWriteCommand({ RequestItems: left });
        left = unprocessed((await reach(() => client.send(command))).UnprocessedItems);
        if (count() < before) attempt = 0;
      }
    },
    async transact(writes, token = randomUUID()) {
      const command = new TransactWriteCommand({
        TransactItems: writes.map((write) => toTransactItem(write, nameOf)),
        ClientRequestToken: token,
      });
      try {
        await retryConflicts(() => reach(() => client.send(command)));
        return true;
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw error;
        const reasons = error.CancellationReasons ?? [];
        const failed = reasons.flatMap(({ Code }, at) => (Code === 'ConditionalCheckFailed' ? [at] : []));
        if (failed.length === 0) throw error;
        return failed;
      }
    },
  };
}

function toTransactItem(write: Write, nameOf: (key: Key) => string): NonNullable<TransactWriteCommandInput['TransactItems']>[number] {
  if ('put' in write) return { Put: { TableName: nameOf(write.put), Item: write.put, ...compileConditions(write) } };
  if ('delete' in write) return { Delete: { TableName: nameOf(write.delete), Key: write.delete, ...compileConditions(write) } };
  if ('update' in write) {
    const { UpdateExpression = '', ...compiled } = compileUpdate(write);
    return { Update: { TableName: nameOf(write.update), Key: write.update, UpdateExpression, ...compiled } };
  }
  const { ConditionExpression = '', ...compiled } = compileConditions(write);
  return { ConditionCheck: { TableName: nameOf(write.check), Key: write.check, ConditionExpression, ...compiled } };
}

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

export function tableFromEnvironment(): Table {
  const { registryTable, activityTable } = readEnvironment(['registryTable', 'activityTable']);
  return openTable({ registry: registryTable, activity: activityTable });
}
