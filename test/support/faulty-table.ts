import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TableName } from '../../functions/core/store/keys.ts';
import { openMemoryTable } from '../world/memory-table.ts';
import type { Faults } from './faulty-proxy.ts';
import { seededRandom } from './random.ts';

type Value = { S: string } | { N: string } | { B: string } | { BOOL: boolean } | { NULL: true } | { L: Value[] } | { M: Record<string, Value> };
type Item = Record<string, Value>;
type Plain = Record<string, unknown>;

const mapped = <T, U>(members: Record<string, T>, change: (member: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));

function toPlain(value: Value): unknown {
  if ('S' in value) return value.S;
  if ('N' in value) return Number(value.N);
  if ('B' in value) return new Uint8Array(Buffer.from(value.B, 'base64'));
  if ('BOOL' in value) return value.BOOL;
  if ('NULL' in value) return null;
  return 'L' in value ? value.L.map(toPlain) : mapped(value.M, toPlain);
}

function toValue(plain: unknown): Value {
  if (typeof plain === 'string') return { S: plain };
  if (typeof plain === 'number') return { N: String(plain) };
  if (typeof plain === 'boolean') return { BOOL: plain };
  if (plain instanceof Uint8Array) return { B: Buffer.from(plain).toString('base64') };
  if (plain === null) return { NULL: true };
  return Array.isArray(plain) ? { L: plain.map(toValue) } : { M: mapped(plain as Plain, toValue) };
}

const toItem = (item: object): Item => mapped(item as Plain, toValue);

/** What is read of a request. */
interface Request {
  Key?: Item;
  Item?: Item;
  ConditionExpression?: string;
  UpdateExpression?: string;
  ReturnValues?: 'ALL_NEW' | 'ALL_OLD';
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
  RequestItems?: Record<string, { Keys: Item[] }>;
}

const refused = { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'The conditional request failed' };

export interface FaultyTable {
  endpoint: string;
  tableNames: Record<TableName, string>;
  /** how many requests came, and how many had each fault */
  counts: Record<keyof Faults | 'requests', number>;
  stop(): Promise<void>;
}

/**
 * The table in memory over DynamoDB's own protocol, on a loopback port, with faults that are drawn from `seed`: for millions of operations, of
 * which each takes a table engine and a proxy before it several times as long. It knows what counters and idempotency keys need, no queries.
 * @param delayMs - how long a delayed request is held back
 */
export async function startFaultyTable(faults: Omit<Faults, 'dropBefore' | 'late'>, seed: number, delayMs = 200): Promise<FaultyTable> {
  const table = openMemoryTable();
  const random = seededRandom(seed);
  const counts = { requests: 0, dropBefore: 0, dropAfter: 0, delay: 0, duplicate: 0, late: 0 };

  function draw(): keyof Faults | undefined {
    let left = random();
    return (['dropAfter', 'delay', 'duplicate'] as const).find((kind) => {
      left -= faults[kind] ?? 0;
      return left < 0;
    });
  }

  async function execute(operation: string, request: Request): Promise<object | undefined> {
    const { ExpressionAttributeValues: values, RequestItems: batch, Key, Item: item, ...input } = request;
    const key = mapped(Key ?? {}, toPlain) as { pk: string; sk: string };
    const asked = { ...input, ...(values && { ExpressionAttributeValues: mapped(values, toPlain) }) };
    switch (operation) {
      case 'GetItem': {
        const found = await table.get(key);
        return found ? { Item: toItem(found) } : {};
      }
      case 'BatchGetItem': {
        const read = async ({ Keys }: { Keys: Item[] }) => {
          const found = await table.getAll(Keys.map((one) => mapped(one, toPlain) as typeof key));
          return found.flatMap((one) => (one ? [toItem(one)] : []));
        };
        const responses = await Promise.all(Object.entries(batch ?? {}).map(async ([name, part]) => [name, await read(part)]));
        return { Responses: Object.fromEntries(responses), UnprocessedKeys: {} };
      }
      case 'PutItem':
        return (await table.put(mapped(item ?? {}, toPlain) as typeof key, asked)) ? {} : undefined;
      case 'UpdateItem': {
        const shown = await table.update(key, asked);
        return shown ? { Attributes: toItem(shown) } : undefined;
      }
      case 'DeleteItem':
        return (await table.delete(key, asked)) ? {} : undefined;
      default:
        throw new Error(`${operation} is not known here`);
    }
  }

  const server = createServer(async (incoming, response) => {
    counts.requests++;
    const fault = draw();
    if (fault) counts[fault]++;
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    const request: Request = JSON.parse(await text(incoming));
    if (fault === 'delay') await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (fault === 'duplicate') await execute(operation, request);
    const answer = await execute(operation, request);
    if (fault === 'dropAfter') incoming.socket.destroy();
    else response.writeHead(answer ? 200 : 400, { 'Content-Type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer ?? refused));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { endpoint, tableNames: { registry: 'registry', activity: 'activity' }, counts, stop };
}
