import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { CliFailure } from '../../../bin/cli/failure.ts';
import { serveTables } from '../../../bin/local/transactions.ts';
import { applyPlan, type Result } from '../../../bin/restore/apply.ts';
import { makePlan, type Plan, type Selection } from '../../../bin/restore/plan.ts';
import { explain, openTables, requireClock, requireWriting } from '../../../bin/restore/tables.ts';
import { unavailable } from '../../../functions/core/api-error.ts';
import { openRegistry } from '../../../functions/core/registry/registry.ts';
import { claimName } from '../../../functions/core/registry/service-name.ts';
import { openSqliteEngine } from '../../../functions/core/search/sqlite/engine.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import { copyTable, createTable } from '../../support/copy-table.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { startRegistry, type TestRegistry } from '../../support/registry.ts';

let registry: TestRegistry;
let client: DynamoDBClient;
let live: string;

beforeAll(async () => {
  registry = await startRegistry();
  live = registry.tableNames.registry;
  process.env.AWS_ENDPOINT_URL_DYNAMODB = registry.endpoint;
  client = new DynamoDBClient({});
});
afterAll(async () => {
  delete process.env.AWS_ENDPOINT_URL_DYNAMODB;
  client.destroy();
  await registry.stop();
});

const anyRevision = () => true;
const quiet = { progress: () => ({ step() {}, end() {} }) };

let copies = 0;
async function makeCopy(): Promise<string> {
  const name = `copy-${++copies}`;
  await copyTable(client, live, name);
  return name;
}

/** The deletion of a service happened two minutes ago. */
const age = (serviceId: string) =>
  registry.table.update(keys.service(serviceId), {
    UpdateExpression: 'SET deleted_at = :then',
    ExpressionAttributeValues: { ':then': Date.now() - 120_000 },
  });

/** Does something as if two minutes had passed. */
async function later<T>(work: () => Promise<T>): Promise<T> {
  const { now } = Date;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 120_000);
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}

async function plan(from: string, selection: Selection): Promise<Plan> {
  await using tables = await openTables({ from, to: live });
  return makePlan(tables, selection);
}

async function restore(from: string, selection: Selection, planned?: Plan): Promise<Result & Plan> {
  await using tables = await openTables({ from, to: live });
  const made = planned ?? (await makePlan(tables, selection));
  await requireWriting(tables);
  return { ...made, ...(await applyPlan(quiet, tables, made, 4)) };
}

const brief = ({ steps }: Plan) => steps.map(({ action, id }) => `${action} ${id}`).sort();
const done = (more: Partial<Result['done']>): Result['done'] => ({ create: 0, replace: 0, 'put back': 0, remove: 0, ...more });

/** A warm search: its index is built once and follows changes. */
async function openSearch() {
  const engine = openSqliteEngine(openRegistry(registry.table));
  const find = async (query: string) =>
    (await engine.search({ query, page: 1, page_size: 50 })).hits.map(({ intent }) => intent.intent_uid);
  await find('anything');
  return { find, close: engine.close };
}

/** A service with intents `<slug>:0` and so on. */
async function createService(name: string, slugs: string[]) {
  const service = await registry.services.create(serviceNamed(name));
  const uids = slugs.map((slug) => `restore.example:${slug}:v1`);
  for (const uid of uids) await registry.intents.create(service.service_id, intentOf(uid, { intent_name: `Find ${name}` }));
  return { id: service.service_id, service, uids };
}

describe('an intent', () => {
  test('that was deleted is read, listed, counted and found again', async () => {
    const { id, uids } = await createService('Lighthouse', ['light-1', 'light-2']);
    const [uid = '', other = ''] = uids;
    const before = await registry.intents.find(uid);
    const from = await makeCopy();
    const search = await openSearch();
    await registry.intents.remove(uid, anyRevision);
    expect(await search.find('lighthouse')).toEqual([other]);

    expect(await plan(from, { what: 'intent', id: uid })).toEqual({
      steps: [{ kind: 'intent', id: uid, name: 'Find Lighthouse', service_id: id, action: 'put back' }],
      obstacles: [],
      unchanged: 0,
    });
    expect(await restore(from, { what: 'intent', id: uid })).toMatchObject({ done: done({ 'put back': 1 }), failed: [] });

    const { intent } = (await registry.intents.find(uid)) ?? {};
    expect(intent).toEqual({ ...before?.intent, rev: expect.any(String) });
    expect(intent?.rev).not.toBe(before?.intent.rev);
    expect(await registry.table.get(keys.intent(uid))).not.toHaveProperty('expires_at');
    const { intents, total } = await registry.intents.list(id, 0, 10);
    expect([total, intents.map(({ intent_uid }) => intent_uid)]).toEqual([2, uids]);
    expect((await search.find('lighthouse')).sort()).toEqual(uids);
    await search.close();

    expect(await plan(from, { what: 'intent', id: uid })).toEqual({ steps: [], obstacles: [], unchanged: 1 });
  });

  test('that was changed is as it was', async () => {
    const {
      uids: [uid = ''],
    } = await createService('Harbour', ['harbour']);
    const from = await makeCopy();
    await registry.intents.replace(uid, intentOf(uid, { intent_name: 'Something else' }), anyRevision);
    const result = await restore(from, { what: 'intent', id: uid });
    expect([brief(result), result.done]).toEqual([[`replace ${uid}`], done({ replace: 1 })]);
    expect((await registry.intents.find(uid))?.intent.intent_name).toBe('Find Harbour');
  });

  test('that is changed after the plan was shown is left alone', async () => {
    const {
      uids: [uid = ''],
    } = await createService('Quay', ['quay']);
    const from = await makeCopy();
    await registry.intents.replace(uid, intentOf(uid, { intent_name: 'Second' }), anyRevision);
    const planned = await plan(from, { what: 'intent', id: uid });
    await registry.intents.replace(uid, intentOf(uid, { intent_name: 'Third' }), anyRevision);
    const { failed } = await restore(from, { what: 'intent', id: uid }, planned);
    expect(failed).toEqual([
      { kind: 'intent', id: uid, message: 'It has been changed meanwhile. Run this again to see what there is to do now.' },
    ]);
    expect((await registry.intents.find(uid))?.intent.intent_name).toBe('Third');
  });

  test('that another service has by now stays there', async () => {
    const {
      id,
      uids: [uid = ''],
    } = await createService('Former owner', ['owned']);
    const from = await makeCopy();
    await registry.intents.remove(uid, anyRevision);
    const next = await registry.services.create(serviceNamed('Present owner'));
    await registry.intents.create(next.service_id, intentOf(uid));
    expect(await plan(from, { what: 'service', id })).toEqual({
      steps: [],
      obstacles: [
        {
          kind: 'intent',
          id: uid,
          message: `It is an intent of another service now: "Present owner" (${next.service_id}). Delete it there first, then run this again.`,
        },
      ],
      unchanged: 1,
    });
  });
});

describe('a service', () => {
  test('that was deleted is back with its name and the intents of the copy, and with no others', async () => {
    const { id, service, uids } = await createService('Observatory', ['star-1', 'star-2', 'star-3']);
    const from = await makeCopy();
    await registry.intents.create(id, intentOf('restore.example:star-later:v1', { intent_name: 'Find Observatory' }));
    const [follower, sleeper] = [await openSearch(), await openSearch()];
    await registry.services.remove(id, anyRevision);
    expect(await follower.find('observatory')).toEqual([]);
    await age(id);

    const planned = await plan(from, { what: 'service', id });
    await using tables = await openTables({ from, to: live });
    const result = await later(() => applyPlan(quiet, tables, planned, 4));
    expect(result).toEqual({ done: done({ 'put back': 1, create: 3 }), failed: [] });
    expect(await registry.services.find(id)).toEqual({
      ...service,
      pk: expect.any(String),
      sk: expect.any(String),
      rev: expect.any(String),
      name_claim: expect.any(String),
      emptied_at: expect.any(Number),
    });
    const { intents, total } = await registry.intents.list(id, 0, 10);
    expect([total, intents.map(({ intent_uid }) => intent_uid)]).toEqual([3, uids]);
    for (const search of [follower, sleeper]) {
      expect((await search.find('observatory')).sort()).toEqual(uids);
      await search.close();
    }
    await expect(registry.services.create(serviceNamed('observatory'))).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await plan(from, { what: 'service', id })).toEqual({ steps: [], obstacles: [], unchanged: 4 });

    const renamed = await registry.services.replace(id, serviceNamed('Planetarium'), anyRevision);
    expect(renamed?.emptied_at).toBeDefined();
    await expect(registry.services.create(serviceNamed('Observatory'))).resolves.toBeDefined();
  });

  test('whose deletion was cut short comes back as if it had been completed', async () => {
    const { id, uids } = await createService('Windmill', ['mill-1', 'mill-2']);
    const from = await makeCopy();
    const late = 'restore.example:mill-late:v1';
    await registry.intents.create(id, intentOf(late));
    await registry.services.remove(id, anyRevision, 0);
    await age(id);
    const result = await restore(from, { what: 'service', id });
    expect([brief(result), result.failed]).toEqual([[`put back ${id}`, ...uids.map((uid) => `put back ${uid}`)], []]);
    expect(await registry.intents.list(id, 0, 10)).toMatchObject({ total: 2 });
    expect(await registry.intents.find(late)).toBeUndefined();
  });

  test('that is restored in part is completed by the next run', async () => {
    const { id, uids } = await createService('Aqueduct', ['water-1', 'water-2', 'water-3']);
    const from = await makeCopy();
    await registry.services.remove(id, anyRevision);
    await age(id);
    const planned = await plan(from, { what: 'service', id });
    await restore(from, { what: 'service', id }, { ...planned, steps: planned.steps.slice(0, 2) });
    expect(await registry.intents.list(id, 0, 10)).toMatchObject({ total: 1 });
    const { done: rest } = await restore(from, { what: 'service', id });
    expect(rest).toEqual(done({ create: 2 }));
    expect((await registry.intents.list(id, 0, 10)).intents.map(({ intent_uid }) => intent_uid)).toEqual(uids);
  });

  test('whose tombstone has expired is created under its old id', async () => {
    const { id } = await createService('Sundial', ['sun']);
    const from = await makeCopy();
    await registry.services.remove(id, anyRevision);
    await registry.table.delete(keys.service(id));
    const result = await restore(from, { what: 'service', id });
    expect([result.done, result.failed]).toEqual([done({ create: 2 }), []]);
    expect(await registry.intents.list(id, 0, 10)).toMatchObject({ total: 1 });
  });

  test.each([
    [
      'whose name another has taken',
      async () => (await registry.services.create(serviceNamed('Belfry'))).service_id,
      (holder: string) => `Its name is that of the service ${holder} by now. Rename or delete that one, then run this again.`,
    ],
    [
      'whose name another request is claiming',
      async (id: string) => {
        await registry.table.delete(keys.service(id));
        return (await claimName(registry.table, 'Belfry', '01ARZ3NDEKTSV4RRFFQ69G5FAV')) ?? '';
      },
      () => 'Another request is claiming this name, or one was cut short less than a minute ago. Run this again in a minute.',
    ],
  ])('%s is left out with its intents, and told', async (_, take, message) => {
    const {
      id,
      uids: [uid = ''],
    } = await createService('Belfry', ['bell']);
    const from = await makeCopy();
    await registry.services.remove(id, anyRevision);
    await age(id);
    const holder = await take(id);
    expect((await restore(from, { what: 'service', id })).failed).toEqual([
      { kind: 'service', id, message: message(holder) },
      { kind: 'intent', id: uid, message: 'Its service could not be restored. Put that right, then run this again.' },
    ]);
    expect(await registry.services.find(id)).toBeUndefined();
    await registry.services.remove(holder, anyRevision);
    await registry.table.delete(keys.serviceName('Belfry'));
  });

  test('that was deleted less than a minute ago has to wait', async () => {
    const { id } = await createService('Hourglass', []);
    const from = await makeCopy();
    await registry.services.remove(id, anyRevision);
    const message = 'It was deleted less than a minute ago, and its deletion may still be under way. Run this again in a minute.';
    expect(await plan(from, { what: 'service', id })).toEqual({ steps: [], obstacles: [{ kind: 'service', id, message }], unchanged: 0 });
  });

  test('is never put back twice', async () => {
    const { id } = await createService('Obelisk', []);
    expect(await registry.services.putBack(id, serviceNamed('Obelisk'))).toBeUndefined();
    expect(await registry.services.find(id)).not.toHaveProperty('emptied_at');
  });
});

/** Everything that is registered, without revisions. */
async function contents() {
  const records = [];
  for await (const part of openRegistry(registry.table).readAll()) {
    for (const { rev, ...record } of part.records) {
      const { name_claim, emptied_at, ...content } = record as unknown as Record<string, unknown>;
      records.push(JSON.stringify(content));
    }
  }
  return records.sort();
}

test('everything is as it was, and what came later is gone', async () => {
  const [first, second, gone, kept] = [
    await createService('Alpha', ['a-1', 'a-2']),
    await createService('Beta', ['b-1']),
    await createService('Gamma', ['g-1', 'g-2']),
    await createService('Delta', ['d-1']),
  ];
  const before = await contents();
  const from = await makeCopy();
  const search = await openSearch();

  await registry.services.replace(first.id, serviceNamed('Omega'), anyRevision);
  await registry.services.replace(second.id, serviceNamed('Alpha'), anyRevision);
  await registry.services.remove(gone.id, anyRevision);
  await age(gone.id);
  await registry.intents.remove(first.uids[0] ?? '', anyRevision);
  await registry.intents.create(kept.id, intentOf(first.uids[0] ?? ''));
  await registry.intents.replace(first.uids[1] ?? '', intentOf(first.uids[1] ?? '', { tags: ['new'] }), anyRevision);
  await registry.intents.create(kept.id, intentOf('restore.example:later:v1', { intent_name: 'Find Gamma' }));
  const later = await createService('Gamma', ['later-1', 'later-2']);

  const planned = await plan(from, { what: 'all' });
  expect(brief(planned)).toEqual(
    [
      `replace ${first.id}`,
      `replace ${second.id}`,
      `put back ${gone.id}`,
      ...gone.uids.map((uid) => `create ${uid}`),
      `remove ${first.uids[0]}`,
      `create ${first.uids[0]}`,
      `replace ${first.uids[1]}`,
      'remove restore.example:later:v1',
      `remove ${later.id}`,
    ].sort(),
  );
  const { failed } = await restore(from, { what: 'all' }, planned);
  expect(failed).toEqual([]);
  expect(await contents()).toEqual(before);
  expect((await search.find('gamma')).sort()).toEqual(gone.uids);
  for (const { id, uids } of [first, second, gone, kept]) {
    expect(await registry.intents.list(id, 0, 10)).toMatchObject({ total: uids.length });
  }
  await search.close();
  expect((await plan(from, { what: 'all' })).steps).toEqual([]);
}, 60_000);

describe('before anything is changed, it refuses', () => {
  let slow: Server & { endpoint: string };
  beforeAll(async () => {
    await createTable(client, 'foreign', ['id', 'time']);
    await createTable(client, 'empty');
    await createTable(client, 'foreign-items');
    await registry.client.send(
      new (await import('@aws-sdk/lib-dynamodb')).PutCommand({ TableName: 'foreign-items', Item: { pk: 'user#1', sk: '1' } }),
    );
    await registry.table.put({ ...keys.agent('a'), agent_id: 'a' });
    const server = serveTables({ createTableMs: 3_000 });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    slow = Object.assign(server, { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterAll(() => {
    slow.closeAllConnections();
    slow.close();
  });

  const use = (from: string, to = live) => openTables({ from, to });

  test.each<[string, () => Promise<unknown>, string, string]>([
    ['one table for both', () => use(live), 'usage', 'are the same table'],
    [
      'a copy that is not there',
      () => use('nothing'),
      'usage',
      'There is no table nothing in eu-west-1. Make the copy first: aws dynamodb restore-table-to-point-in-time --source-table-name test-registry --target-table-name nothing',
    ],
    [
      'a live table that is not there',
      () => use('empty', 'nothing'),
      'usage',
      'There is no table nothing in eu-west-1. --to is the output RegistryTable',
    ],
    ['a table with other keys', () => use('foreign'), 'usage', 'is no table of Intent Gate: its keys are not pk and sk.'],
    ['a table with other items', () => use('foreign-items'), 'usage', 'is no table of Intent Gate: it holds other items.'],
    ['the table of agents', () => use('test-activity'), 'usage', 'holds agents and counters, which are not restored.'],
    [
      'the table of agents as the live one',
      async () => use(await makeCopy(), 'test-activity'),
      'usage',
      'holds agents and counters, which are not restored.',
    ],
    ['an empty copy', () => use('empty'), 'usage', 'The table empty is empty: there is nothing to restore.'],
    [
      'an intent that the copy does not have',
      async () => plan(await makeCopy(), { what: 'intent', id: 'a.b:c:v1' }),
      'failure',
      'The copy has no intent a.b:c:v1: it was not registered then, or deleted.',
    ],
    ['no uid', async () => plan(await makeCopy(), { what: 'intent', id: 'c' }), 'usage', 'c is no intent_uid.'],
    ['no service_id', async () => plan(await makeCopy(), { what: 'service', id: 'Alpha' }), 'usage', 'Alpha is no service_id.'],
  ])('%s', async (_, attempt, reason, message) => {
    await expect(attempt()).rejects.toMatchObject({ name: 'CliFailure', reason, message: expect.stringContaining(message) });
  });

  test('an intent whose service is deleted', async () => {
    const {
      id,
      uids: [uid = ''],
    } = await createService('Drawbridge', ['bridge']);
    const from = await makeCopy();
    await registry.services.remove(id, anyRevision);
    await expect(plan(from, { what: 'intent', id: uid })).rejects.toMatchObject({
      reason: 'failure',
      message: `The service of ${uid} is deleted. Restore it, and with it all its intents: --service ${id}`,
    });
  });

  test('a copy that DynamoDB is still making', async () => {
    process.env.AWS_ENDPOINT_URL_DYNAMODB = slow.endpoint;
    try {
      const making = new DynamoDBClient({});
      for (const name of [live, 'half']) await createTable(making, name);
      making.destroy();
      await expect(use('half')).rejects.toMatchObject({
        reason: 'failure',
        message: 'The copy half is not complete yet (CREATING). Wait for it: aws dynamodb wait table-exists --table-name half',
      });
    } finally {
      process.env.AWS_ENDPOINT_URL_DYNAMODB = registry.endpoint;
    }
  });

  const named = (name: string, message = 'told', more: object = {}) => Object.assign(new Error(message), { name, ...more });
  test.each<[string, Error, string, string]>([
    [
      'a permission that is missing',
      named('AccessDeniedException', 'no dynamodb:Scan.'),
      'credentials',
      'AWS does not permit it: no dynamodb:Scan. Needed are dynamodb:DescribeTable',
    ],
    ['missing credentials', named('CredentialsProviderError'), 'credentials', 'No credentials of AWS are found.'],
    [
      'credentials that have expired',
      named('ExpiredTokenException'),
      'credentials',
      'AWS refuses the credentials (ExpiredTokenException).',
    ],
    ['a region that nobody has named', named('Error', 'Region is missing'), 'usage', 'Which region? Give --region or AWS_REGION.'],
    ['no answer', named('TimeoutError'), 'unreachable', 'DynamoDB does not answer (TimeoutError).'],
    [
      'an overload',
      unavailable('', named('ThrottlingException', '', { $metadata: {} })),
      'unreachable',
      'DynamoDB does not answer (ThrottlingException).',
    ],
  ])('%s', (_, error, reason, message) => {
    const explained = explain(error, { from: 'copy', to: live });
    expect(explained).toBeInstanceOf(CliFailure);
    expect(explained).toMatchObject({ reason, message: expect.stringContaining(message) });
  });

  test('a clock that is wrong', () => {
    for (const errorMs of [0, 2_900, -2_900]) expect(() => requireClock(errorMs)).not.toThrow();
    expect(() => requireClock(-61_000)).toThrow('The clock of this machine is 61 seconds behind');
    expect(() => requireClock(5_000)).toThrow('The clock of this machine is 5 seconds ahead');
  });

  test('a clock that is wrong, by the date of an answer', async () => {
    const server = createServer((_, response) => {
      response.setHeader('Date', new Date(Date.now() - 60_000).toUTCString());
      const KeySchema = [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ];
      response.end(JSON.stringify({ Table: { TableStatus: 'ACTIVE', KeySchema } }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    process.env.AWS_ENDPOINT_URL_DYNAMODB = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await expect(use('copy')).rejects.toMatchObject({
        message: expect.stringMatching(/^The clock of this machine is (59|60|61) seconds ahead/),
      });
    } finally {
      process.env.AWS_ENDPOINT_URL_DYNAMODB = registry.endpoint;
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('the command', () => {
  const run = async (...words: string[]) => {
    const { NODE_OPTIONS: _, ...environment } = process.env;
    return promisify(execFile)(process.execPath, ['bin/run.js', 'bin/restore.ts', ...words], { env: environment }).then(
      (output) => ({ code: 0, ...output }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  };

  test('shows what it would do, and does it with --yes', async () => {
    const {
      id,
      uids: [uid = ''],
    } = await createService('Carillon', ['chime']);
    const from = await makeCopy();
    await registry.intents.remove(uid, anyRevision);
    const words = ['--from', from, '--to', live, '--service', id];
    const shown = `  + intent ${uid}  "Find Carillon" is put back over its deletion\n0 to create, 1 to put back, 0 to replace, 0 to remove, 1 unchanged.\n`;

    expect(await run(...words)).toEqual({ code: 0, stdout: shown, stderr: 'Nothing has been changed. Give --yes to do it.\n' });
    expect(await registry.intents.find(uid)).toBeUndefined();

    expect(await run(...words, '--yes')).toEqual({
      code: 0,
      stdout: `${shown}0 created, 1 put back, 0 replaced, 0 removed.\n`,
      stderr: '',
    });
    expect(await registry.intents.find(uid)).toBeDefined();

    const { stdout } = await run(...words, '--json');
    expect(JSON.parse(stdout)).toEqual({ from, to: live, unchanged: 2, steps: [], obstacles: [], done: { done: done({}), failed: [] } });
  }, 60_000);

  test('says what is wrong with its options, and ends with a code of its own', async () => {
    expect(await run('--from', 'a', '--to', 'b')).toMatchObject({
      code: 3,
      stderr: 'What is to be restored? Give one of --intent <uid>, --service <id> and --all.\n',
    });
    expect(await run('--from', 'a', '--to', 'b', '--all', '--service', 'c')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("option '--service <id>' cannot be used with option '--all'"),
    });
    expect(await run('--to', 'b', '--all')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("required option '--from <table>' not specified"),
    });
  }, 60_000);
});
