/**
 * A thread that answers as DynamoDB and S3 would, as far as the sequencer and the roll-up of executions need, after the usual delays. It generates the
 * executions of a minute. Its first message is its address; it answers any message with the numbers of requests since it received a DELETE.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { listen } from '../../bin/local/http.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { receiptKeys } from '../../functions/receipts/records.ts';

type Wire = Record<string, Record<string, unknown>>;

export interface Services {
  /** number of executions in each partition */
  executionsOfShard: number;
  agents: number;
  /** number of waiting receipts */
  receipts: number;
}

const { executionsOfShard, agents, receipts } = workerData as Services;
const [itemMs, batchMs, bucketMs] = [5, 10, 25];
const partitions = new Map<string, Map<string, Wire>>();
const objects = new Map<string, Buffer>();
let counts: Record<string, number> = {};

const textOf = (value: Record<string, unknown> | undefined): string => String(value?.S ?? '');
const partitionOf = (pk: string): Map<string, Wire> => partitions.get(pk) ?? partitions.set(pk, new Map()).get(pk) ?? new Map();
const put = (item: Wire): void => void partitionOf(textOf(item.pk)).set(textOf(item.sk), item);
const remove = ({ pk, sk }: Wire): void => void partitionOf(textOf(pk)).delete(textOf(sk));
const find = ({ pk, sk }: Wire): Wire | undefined => partitions.get(textOf(pk))?.get(textOf(sk));

/** An execution as `usage.ts` keeps it. */
function executionAt(pk: string, minute: string, shard: number, index: number): Wire {
  const agent = (index * 7919 + shard * 104_729) % agents;
  const service = agent % 50;
  const members: Record<string, string | number> = {
    at: Date.parse(`${minute}:00Z`) + (index % 60_000),
    execution_id: `01KJN5QDGR${String(shard * 10_000_000 + index).padStart(16, '0')}`,
    agent_id: `agent-${agent}`,
    outcome: index % 20 === 0 ? 'TOO_MANY_REQUESTS' : 'OK',
    started_at: `${minute}:00.000Z`,
    holder: 'h'.repeat(43),
    agent_domain: '',
    service_id: `service-${service}`,
    intent_uid: `service-${service}.example:read:v${index % 10}`,
    method: 'GET',
    policy_digest: 'p'.repeat(43),
    upstream_host: `service-${service}.example`,
    upstream_status: 200,
    upstream_ms: (index * 37) % 2_000,
    expires_at: 1_900_000_000,
  };
  const wire = Object.entries(members).map(([name, value]) => [name, typeof value === 'number' ? { N: String(value) } : { S: value }]);
  return { ...Object.fromEntries(wire), pk: { S: pk }, sk: { S: `${minute}#${members.execution_id}` }, sent: { BOOL: true } };
}

interface Query {
  ExpressionAttributeValues: Wire;
  Limit?: number;
  ExclusiveStartKey?: Wire;
}

function query({ ExpressionAttributeValues: values, Limit: limit = 4_000, ExclusiveStartKey: start }: Query): object {
  const pk = textOf(values[':pk']);
  const [, shard] = /^USAGE#\d.*#(\d)$/.exec(pk) ?? [];
  if (shard !== undefined) {
    const minute = textOf(values[':sk']).slice(0, 16);
    const from = start ? (Number(textOf(start.sk).slice(-16)) % 10_000_000) + 1 : 0;
    const count = Math.max(0, Math.min(limit, executionsOfShard - from));
    const Items = Array.from({ length: count }, (_, at) => executionAt(pk, minute, Number(shard), from + at));
    const { pk: _, sk } = Items.at(-1) ?? {};
    return { Items, ...(from + count < executionsOfShard && { LastEvaluatedKey: { pk: { S: pk }, sk } }) };
  }
  const Items: Wire[] = [];
  const held = partitions.get(pk) ?? new Map<string, Wire>();
  for (const item of held.values()) if (Items.push(item) >= limit) break;
  const { sk } = Items.at(-1) ?? {};
  return { Items, ...(Items.length < held.size && { LastEvaluatedKey: { pk: { S: pk }, sk } }) };
}

const operations: Record<string, (input: never) => object> = {
  Query: query,
  PutItem: ({ Item }: { Item: Wire }) => {
    put(Item);
    return {};
  },
  DeleteItem: ({ Key }: { Key: Wire }) => {
    remove(Key);
    return {};
  },
  GetItem: ({ Key }: { Key: Wire }) => ({ Item: find(Key) }),
  // runs keep their progress themselves
  UpdateItem: ({ Key }: { Key: Wire }) => ({ Attributes: { run_number: { N: '1' }, ...find(Key) } }),
  BatchGetItem: ({ RequestItems }: { RequestItems: Record<string, { Keys: Wire[] }> }) => ({
    Responses: Object.fromEntries(Object.entries(RequestItems).map(([name, { Keys }]) => [name, Keys.flatMap((key) => find(key) ?? [])])),
  }),
  BatchWriteItem: ({
    RequestItems,
  }: {
    RequestItems: Record<string, { PutRequest?: { Item: Wire }; DeleteRequest?: { Key: Wire } }[]>;
  }) => {
    for (const { PutRequest, DeleteRequest } of Object.values(RequestItems).flat()) {
      if (PutRequest) put(PutRequest.Item);
      if (DeleteRequest) remove(DeleteRequest.Key);
    }
    return {};
  },
};

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  if (request.method === 'DELETE') {
    counts = {};
    response.end();
    return;
  }
  const target = request.headers['x-amz-target'];
  const operation = target === undefined ? `${request.method} object` : (String(target).split('.').at(-1) ?? '');
  counts[operation] = (counts[operation] ?? 0) + 1;
  await setTimeout(target === undefined ? bucketMs : /^(Query|Batch)/.test(operation) ? batchMs : itemMs);
  if (target !== undefined) {
    const run = operations[operation];
    if (!run) throw new Error(`${operation} is not known here`);
    response.end(JSON.stringify(run(JSON.parse(body.toString()) as never)));
    return;
  }
  const path = (request.url ?? '').split('?')[0] ?? '';
  if (request.method === 'PUT') objects.set(path, body);
  const object = objects.get(path);
  response.writeHead(object ? 200 : 404).end(object ? (request.method === 'GET' ? object : '') : '<Error><Code>NoSuchKey</Code></Error>');
}

for (let made = 0; made < receipts; made++) {
  const { pk, sk } = receiptKeys.newReceipt(newUlid());
  put({ pk: { S: pk }, sk: { S: sk }, digest: { S: 'd'.repeat(43) } });
}

const server = createServer((request, response) => void answer(request, response));
parentPort?.on('message', () => parentPort?.postMessage(counts));
parentPort?.postMessage(`http://127.0.0.1:${await listen(server)}`);
