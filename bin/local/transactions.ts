import { createHash, randomUUID } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import dynalite, { type Options } from 'dynalite';
import deleteItem from 'dynalite/actions/deleteItem.js';
import putItem from 'dynalite/actions/putItem.js';
import updateItem from 'dynalite/actions/updateItem.js';
import db, {
  type Action,
  type BatchOperation,
  type Items,
  type Lock,
  type Request,
  type Store,
  type TableDefinition,
} from 'dynalite/db/index.js';
import deleteRules from 'dynalite/validations/deleteItem.js';
import validations, { type Rules } from 'dynalite/validations/index.js';
import putRules from 'dynalite/validations/putItem.js';
import updateRules from 'dynalite/validations/updateItem.js';

const actions: Record<string, [Action, Rules]> = {
  Put: [putItem, putRules],
  Update: [updateItem, updateRules],
  Delete: [deleteItem, deleteRules],
  // run as a deletion whose write is discarded
  ConditionCheck: [deleteItem, deleteRules],
};

const [maxActions, maxBytes, tokenMs] = [100, 4 * 1024 * 1024, 10 * 60_000];

const ongoing = 'Transaction is ongoing for the item';

const refusal = (name: string, message: string) =>
  Object.assign(new Error(message), { statusCode: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message } });

const nameOf = (error: unknown): string => String((error as { body?: { __type: string } }).body?.__type).replace(/^.*#/, '');

interface Reason {
  Code: string;
  Message?: string;
}

const none: Reason = { Code: 'None' };

/** @throws TransactionCanceledException if there is a reason to cancel */
function requireNone(reasons: Reason[]): void {
  if (reasons.every(({ Code }) => Code === 'None')) return;
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${reasons.map(({ Code }) => Code).join(', ')}]`;
  const error = refusal('TransactionCanceledException', message);
  throw Object.assign(error, { body: { ...error.body, CancellationReasons: reasons } });
}

/** Converts a failed action to a cancellation reason. @throws errors that are not about its item */
function reasonOf(error: unknown): Reason {
  const { message } = error as Error;
  if (nameOf(error) === 'ConditionalCheckFailedException') return { Code: 'ConditionalCheckFailed', Message: message };
  if (nameOf(error) === 'ValidationException') return { Code: 'ValidationError', Message: message };
  throw error;
}

/** @throws dynalite's error for an invalid key */
function keyIn(table: TableDefinition, { Item, Key = {} }: Pick<Request, 'Item' | 'Key'>): string {
  const invalid = Item ? db.validateItem(Item, table) : db.validateKey(Key, table);
  if (invalid) throw invalid;
  return db.createKey(Item ?? Key, table);
}

function validate(request: object, { types, custom }: Rules, store: Store): Request {
  const checked = validations.checkTypes(request, types);
  validations.checkValidations(checked, types, custom, store);
  return checked;
}

/** Adds transactions to a store, and makes its other writes fail on conflict. @returns operations that dynalite lacks or implements differently */
function addTransactions(store: Store): Record<string, (request: Request) => Promise<object>> {
  /** items and tokens of transactions in progress */
  const held = new Set<string>();
  const underWay = new Set<string>();
  /** tokens of the last ten minutes, oldest first */
  let tokens: Promise<Map<string, { digest: string; untilMs: number }>> | undefined;
  const getTable = promisify(store.getTable);
  const { getItemDb } = store;

  store.getItemDb = (name) => {
    const items = getItemDb(name);
    const lock: Lock = (key, write) => {
      if (!held.has(`${name}~${key}`)) return items.lock(key, write);
      own.get = (_, answer) => answer(refusal('TransactionConflictException', ongoing));
      write((answer) => answer);
    };
    const own: Items = { ...items, lock };
    return own;
  };

  async function readTokens() {
    const kept = await store.db.iterator<{ digest: string; untilMs: number }>({ gt: 'token~', lt: 'token~~' }).all();
    return new Map(kept.map(([key, token]) => [key.slice('token~'.length), token] as const).sort(([, a], [, b]) => a.untilMs - b.untilMs));
  }

  /** A view of the store for an action on locked items, which collects its writes. */
  const collecting = (tables: Map<string, TableDefinition>, collect: (operation: BatchOperation) => void): Store => ({
    ...store,
    getTable: (name, answer) => answer(null, tables.get(name)),
    getItemDb: (name) => ({
      ...getItemDb(name),
      lock: (_, write) => write((answer) => answer),
      put: (key, value, answer) => {
        collect({ type: 'put', key: `item-${name}~${key}`, value });
        answer(null);
      },
      del: (key, answer) => {
        collect({ type: 'del', key: `item-${name}~${key}` });
        answer(null);
      },
    }),
  });

  /** @param more - additional writes in the same batch */
  async function writeAll(requested: Record<string, object>[], more: BatchOperation[]): Promise<void> {
    if (requested.length < 1 || requested.length > maxActions)
      throw db.validationError(`1 to ${maxActions} actions are allowed in a transaction`);
    const writes = requested.map((one) => {
      const [[verb, request] = ['', {}]] = Object.entries(one);
      const [act, rules] = actions[verb] ?? [];
      if (!act || !rules) throw db.validationError(`An action is one of ${Object.keys(actions).join(', ')}`);
      return { verb, act, request: validate(request, rules, store) };
    });
    const names = [...new Set(writes.map(({ request }) => request.TableName))];
    const tables = new Map(await Promise.all(names.map(async (name) => [name, (await getTable(name)) ?? {}] as const)));
    const items = writes.map(({ request }) => ({ table: request.TableName, key: keyIn(tables.get(request.TableName) ?? {}, request) }));
    const ids = items.map(({ table, key }) => `${table}~${key}`);
    if (new Set(ids).size < ids.length) throw db.validationError('Transaction request cannot include multiple operations on one item');

    requireNone(ids.map((id) => (held.has(id) ? { Code: 'TransactionConflict', Message: ongoing } : none)));
    for (const id of ids) held.add(id);
    const releases: (() => void)[] = [];
    try {
      // cannot deadlock: other writes that hold these locks never wait for a transaction
      for (const { table, key } of items) {
        await new Promise<void>((locked) => getItemDb(table).lock(key, (release) => locked(void releases.push(release(() => {})))));
      }
      const batch: BatchOperation[] = [];
      const reasons = writes.map(({ verb, act, request }) => {
        const view = collecting(tables, (operation) => verb === 'ConditionCheck' || batch.push(operation));
        return promisify(act)(view, request).then(() => none, reasonOf);
      });
      requireNone(await Promise.all(reasons));
      const bytes = batch.reduce((sum, { value }) => sum + (value ? db.itemSize(value) : 0), 0);
      if (bytes > maxBytes) throw db.validationError('Transaction request exceeds 4 MB');
      await store.db.batch([...batch, ...more]);
    } finally {
      for (const release of releases) release();
      for (const id of ids) held.delete(id);
    }
  }

  async function transact({ TransactItems: requested = [], ClientRequestToken: token = randomUUID() }: Request): Promise<object> {
    const digest = createHash('sha256').update(JSON.stringify(requested)).digest('base64');
    tokens ??= readTokens();
    const known = await tokens;
    const nowMs = Date.now();
    const before = known.get(token);
    if (before && before.untilMs > nowMs) {
      if (before.digest === digest) return {};
      throw refusal('IdempotentParameterMismatchException', 'The token belongs to a transaction with different parameters');
    }
    if (underWay.has(token)) throw refusal('TransactionInProgressException', 'The transaction with this token is in progress');
    underWay.add(token);
    try {
      const expired = [...known.entries().take(maxActions)].filter(([, { untilMs }]) => untilMs <= nowMs).map(([old]) => old);
      const kept = { digest, untilMs: nowMs + tokenMs };
      await writeAll(requested, [
        ...expired.map((old) => ({ type: 'del', key: `token~${old}` }) as const),
        { type: 'put', key: `token~${token}`, value: kept },
      ]);
      for (const old of [...expired, token]) known.delete(old);
      known.set(token, kept);
      return {};
    } finally {
      underWay.delete(token);
    }
  }

  return { TransactWriteItems: transact };
}

/**
 * The stand-in for DynamoDB: dynalite, plus `TransactWriteItems` built from its modules. Actions of a transaction run against a view of the
 * locked items that collects their writes, which LevelDB then applies as one batch.
 */
export function serveTables(options: Options): Server {
  const { create } = db;
  let operations: ReturnType<typeof addTransactions> = {};
  db.create = (given) => {
    const store = create(given);
    operations = addTransactions(store);
    return store;
  };
  const server = dynalite({ createTableMs: 0, ...options });
  db.create = create;

  const [answer] = server.listeners('request') as [RequestListener];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const operate = operations[String(request.headers['x-amz-target']).replace(/^.*\./, '')];
    if (!operate) return answer.call(server, request, response);
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
    json(request)
      .then((body) => operate(body as Request))
      .then(
        (body) => send(200, body),
        (error) => send(error.statusCode ?? 500, error.body ?? { __type: 'InternalServerError', message: String(error.message) }),
      );
  });
  return server;
}
