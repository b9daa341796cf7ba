import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { localCredentials } from '../../../bin/local/functions.ts';
import { region } from '../../../bin/local/json-service.ts';
import { variables } from '../../../functions/core/runtime/environment.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import { type Api, openApi } from '../../../registry/api.ts';
import { applyChanges } from '../../../registry/apply.ts';
import { compareService } from '../../../registry/compare.ts';
import { findServiceByName, servicePath } from '../../../registry/read.ts';
import type { LogEntry } from '../../../schemas/changes.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { startApi } from '../../e2e/api.ts';
import { makeFolder } from '../../support/folder.ts';
import { intentOf } from '../../support/records.ts';
import { openCommandLine } from './command-line.ts';

const most = 50;
const { stack } = await startApi({ context: { maxPerNamespace: most } });
const { run } = await openCommandLine(makeFolder(), { INTENT_GATE_URL: stack.base_url, INTENT_GATE_TOKEN: stack.admin_token });

const intentAt = (name: string, at: number, more: Partial<IntentInput> = {}): IntentInput =>
  intentOf(`${name}.example:act-${String(at).padStart(3, '0')}:v1`, {
    intent_name: `Act ${at}`,
    endpoint: { method: 'GET', url: `https://${name}.example/${at}`, content_type: 'application/json' },
    input_parameters: [],
    ...more,
  });
const wantedOf = (name: string, intents: readonly IntentInput[], namespace?: string) => ({
  service: {
    service_name: name,
    service_url: `https://${name}.example`,
    description: 'Acts',
    ...(namespace !== undefined && { namespace }),
  },
  intents,
});
const many = (name: string, count: number, more?: Partial<IntentInput>) =>
  Array.from({ length: count }, (_, at) => intentAt(name, at, more));

const contextOf = (api: Api) => ({ api, terminal: { progress: () => ({ step() {}, end() {} }) } });
const context = () => contextOf(openApi(stack.base_url, { get: async () => stack.admin_token }));
const compare = (wanted: ReturnType<typeof wantedOf>) => compareService(context(), wanted, 4, false);
const make = async (wanted: ReturnType<typeof wantedOf>) => applyChanges(context(), await compare(wanted), true);

const entriesOf = async (id: string): Promise<LogEntry[]> => {
  const { stdout } = await run(['history', '--json']);
  const entries: LogEntry[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return entries.filter(({ changes }) => changes.some((change) => change.id.startsWith(id)));
};

describe('batches of changes', () => {
  test('intents are changed in batches of at most 30, within the size limit of the gate', async () => {
    expect(await make(wantedOf('small', many('small', 65)))).toMatchObject({ created: 65, failed: [] });
    expect((await entriesOf('small.example')).map(({ changes }) => changes.length)).toEqual([5, 30, 30]);
    // each of 20 KB
    const large = many('large', 25, { input_parameters: many20Kb() });
    expect(await make(wantedOf('large', large))).toMatchObject({ created: 25, failed: [] });
    expect((await entriesOf('large.example')).map(({ changes }) => changes.length)).toEqual([1, 12, 12]);
  });

  test('a batch reports refused intents with their issues, and changes all others', async () => {
    await make(wantedOf('other', [intentAt('other', 1, { intent_uid: 'mixed.example:act-040:v1' })]));
    const intents = many('mixed', 50);
    intents[3] = intentAt('mixed', 3, { endpoint: { method: 'GET', url: 'ftp://x', content_type: 'application/json' } });
    intents[4] = intentAt('mixed', 4, { intent_name: '' });
    intents[45] = intentAt('mixed', 45, {
      input_parameters: [{ name: 'a', type: 'string', description: 'A', required: true, pattern: '(a' }],
    });
    const applied = await make(wantedOf('mixed', intents));
    const failures = [
      [3, 'The request is not valid. Correct every problem in details.issues, then send it again.', '/endpoint/url'],
      [4, 'The request is not valid. Correct every problem in details.issues, then send it again.', '/intent_name'],
      [40, 'Another service has this intent_uid. Choose another namespace, slug or version, or delete the other intent.', '/intent_uid'],
      [45, 'The request is not valid. Correct every problem in details.issues, then send it again.', '/input_parameters/0/pattern'],
    ] as const;
    expect(applied).toMatchObject({
      created: 46,
      failed: failures.map(([at, message, path]) => ({
        intent_uid: intentAt('mixed', at).intent_uid,
        message,
        issues: [{ path, problem: expect.any(String) }],
      })),
    });
  });

  test('a nearly full namespace gets as many intents as it has room for', async () => {
    const applied = await make(wantedOf('full', many('full', most + 5), 'full.example'));
    expect(applied).toMatchObject({ created: most });
    expect(applied.failed.map(({ message }) => message)).toEqual(
      Array(5).fill(`A namespace holds at most ${most} intents. Delete some, or ask the operators to raise the setting maxPerNamespace.`),
    );
  });

  /** Sends a request twice, as if the first response had been lost. */
  const losing = (isLost: (path: string) => boolean): Api => {
    const { api } = context();
    const call: Api['call'] = async (method, path, options) => {
      if (method === 'POST' && isLost(path)) await api.call(method, path, options);
      return api.call(method, path, options);
    };
    return { ...api, call };
  };

  test('a repeated batch is recognised when the response to the first was lost', async () => {
    await make(wantedOf('lost', many('lost', 20)));
    const changed = many('lost', 40, { intent_name: 'Act otherwise' }).slice(10);
    const changes = await compare(wantedOf('lost', changed));
    const api = losing((path) => path.endsWith('/changes'));
    expect(await applyChanges(contextOf(api), changes, true)).toMatchObject({ created: 20, updated: 10, removed: 10, failed: [] });
    expect((await entriesOf('lost.example')).map(({ changes }) => changes.length)).toEqual([10, 30, 20]);
    expect(await compare(wantedOf('lost', changed))).toMatchObject({ intents: [], unwanted: [], unchanged: 30 });
  });

  test('a service whose creation was not confirmed is recognised, unless it has intents', async () => {
    const wanted = wantedOf('unconfirmed', many('unconfirmed', 2), 'unconfirmed.example');
    const changes = await compare(wanted);
    const api = losing((path) => path === '/api/services');
    expect(await applyChanges(contextOf(api), changes, true)).toMatchObject({ created: 2, failed: [] });
    expect(await compare(wanted)).toMatchObject({ service: { kind: 'same' }, intents: [], unchanged: 2 });
    await expect(applyChanges(context(), changes, true)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/^Another service has taken/),
    });
  });

  test('a new service is removed if all its intents fail, unless someone else owns it or it has got other intents', async () => {
    await make(wantedOf('first', [intentAt('first', 1)]));
    const foreign = (name: string) => wantedOf(name, [intentAt(name, 1, { intent_uid: 'first.example:act-001:v1' })]);
    const isThere = async (name: string) => (await findServiceByName(context().api, name)) !== undefined;
    const interposing = (verb: string, path: RegExp, act: () => Promise<unknown>): Api => {
      const { api } = context();
      let hasActed = false;
      const call: Api['call'] = async (method, sentTo, options) => {
        if (!hasActed && method === verb && path.test(sentTo)) {
          hasActed = true;
          await act();
        }
        return api.call(method, sentTo, options);
      };
      return { ...api, call };
    };
    const applyWith = async (api: Api, name: string) => applyChanges(contextOf(api), await compare(foreign(name)), false);

    expect(await applyWith(context().api, 'none')).toMatchObject({ service_id: undefined, created: 0, failed: [{}] });
    expect(await isThere('none')).toBe(false);

    const { api } = context();
    const create = () => api.call('POST', '/api/services', { body: foreign('theirs').service, isAdmin: true });
    expect(await applyWith(interposing('POST', /services$/, create), 'theirs')).toMatchObject({
      service_id: expect.any(String),
      failed: [{}],
    });
    expect(await isThere('theirs')).toBe(true);

    const add = async () => make(wantedOf('shared', [intentAt('shared', 2)]));
    expect(await applyWith(interposing('POST', /changes$/, add), 'shared')).toMatchObject({ service_id: expect.any(String), failed: [{}] });
    expect(await isThere('shared')).toBe(true);

    const remove = async () =>
      api.call('DELETE', servicePath((await findServiceByName(api, 'gone'))?.record.service_id ?? ''), { isAdmin: true });
    expect(await applyWith(interposing('DELETE', /services/, remove), 'gone')).toMatchObject({ service_id: undefined, failed: [{}] });
  });

  test('nothing that has changed since the comparison is overwritten or removed', async () => {
    await make(wantedOf('raced', many('raced', 6)));
    const [first, second, third] = many('raced', 6) as [IntentInput, IntentInput, IntentInput];
    const wanted = wantedOf('raced', [
      { ...first, intent_name: 'A' },
      { ...second, intent_name: 'B' },
      { ...third, intent_name: 'C' },
      intentAt('raced', 7),
    ]);
    wanted.service.description = 'Acts, too';
    const changes = await compare(wanted);
    // the content for agents stays the same, and so does the digest
    await make(
      wantedOf('raced', [
        first,
        { ...second, deprecated: true },
        third,
        intentAt('raced', 3, { deprecated: true }),
        ...many('raced', 6).slice(4),
        intentAt('raced', 7, { description: 'Other' }),
      ]),
    );
    const message = 'Someone else has changed this intent since it was compared. Run the command again to see ';
    const made = 'Someone else has just created a different intent with this uid. Run the command again to see the difference.';
    expect(await applyChanges(context(), changes, true)).toMatchObject({
      created: 0,
      updated: 2,
      removed: 2,
      failed: [
        { intent_uid: second.intent_uid, message: `${message}the difference.`, issues: [] },
        { intent_uid: intentAt('raced', 3).intent_uid, message: `${message}whether it should still be removed.`, issues: [] },
        { intent_uid: intentAt('raced', 7).intent_uid, message: made },
      ],
    });
  });
});

describe('a comparison', () => {
  /** Compares, and also returns the paths of its requests. */
  async function compareCounting(wanted: ReturnType<typeof wantedOf>, isThorough: boolean) {
    const { api } = context();
    const paths: string[] = [];
    const call: Api['call'] = (method, path, options) => {
      paths.push(path);
      return api.call(method, path, options);
    };
    return { changes: await compareService(contextOf({ ...api, call }), wanted, 4, isThorough), paths };
  }

  test('a comparison reads the complete records of a service in pages', async () => {
    const wanted = wantedOf('paged', many('paged', 130));
    const { service_id } = await make(wanted);
    const changed = wantedOf('paged', wanted.intents.with(129, intentAt('paged', 129, { tags: ['new'] })));
    const { changes, paths } = await compareCounting(changed, true);
    expect(changes).toMatchObject({ unchanged: 129, intents: [{ kind: 'update', differences: [{ path: '/tags', after: ['new'] }] }] });
    expect(paths.filter((path) => path.includes('intents'))).toEqual(Array(2).fill(`${servicePath(service_id ?? '')}/intents`));
    expect(await applyChanges(context(), changes, false)).toMatchObject({ updated: 1, failed: [] });
  });

  test.each<[title: string, count: number, lookUps: number]>([
    ['a few new uids one by one', 3, 2],
    ['many new uids in the lists of the other services', 40, 1],
  ])('a comparison looks up %s, to report those of other services', async (_, count, lookUps) => {
    const name = `thorough-${count}`;
    const owned = [1, 2].map((at) => intentAt(name, at).intent_uid);
    await make(
      wantedOf(
        `${name}-owner`,
        owned.map((intent_uid, at) => intentAt(`${name}-owner`, at, { intent_uid, draft: at === 1 })),
      ),
    );
    const { changes, paths } = await compareCounting(wantedOf(name, many(name, count)), true);
    expect(changes.foreign.sort()).toEqual(owned);
    expect(changes.intents).toHaveLength(count - 2);
    // once to find the service, among at most 20 intents
    expect(paths.filter((path) => path.includes('act-000'))).toHaveLength(lookUps);
  });
});

describe('the history', () => {
  test('the history shows a row for each kind of change in an entry', async () => {
    const { stdout } = await run(['history', '--id', intentAt('lost', 12).intent_uid]);
    expect(stdout.split('\n').map((row) => row.replace(/^(\d+ +)\S+Z/, '$1'))).toEqual([
      expect.stringMatching(/^Entry {2}Time +Actor {2}Action {2}Kind +Id$/),
      expect.stringMatching(/^\d+ +admin {2}update {2}intent {2}lost\.example:act-012:v1$/),
      expect.stringMatching(/^\d+ +admin {2}create {2}intent {2}lost\.example:act-012:v1$/),
      '',
    ]);
    expect((await run(['history', '--kind', 'intent'])).stdout).toMatch(
      /admin {2}create {2}intent {2}small\.example:act-030:v1 and 29 more\n/,
    );
  });

  test('the history is verified, and an entry that was altered in the table is reported', async () => {
    const verify = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(['history', 'verify', ...words]);
      return [code, stdout, stderr];
    };
    const [, whole] = await verify();
    const [, count, head = ''] = /^Verified (\d+) entries, up to (\d+:sha-256=[\w-]{43})\.\n$/.exec(String(whole)) ?? [];
    expect(head.split(':')[0]).toBe(count);
    expect(await verify('--expect', head)).toEqual([0, whole, '']);
    const later = `${Number(count) + 500}${head.slice(head.indexOf(':'))}`;
    const ends = `Entry ${Number(count) + 500} is expected, but the log ends before it.`;
    expect(await verify('--expect', later)).toEqual([1, '', `Entries up to ${count} are intact. ${ends}\n`]);
    expect(JSON.parse(String((await verify('--json'))[1]))).toEqual({
      head: { seq: Number(count), digest: head.split(':')[1] },
      count: Number(count),
      oldest: { seq: 1, at: expect.any(String) },
      misfits: [],
    });

    const table = stack.definitionOf('get-intent').environment[variables.registryTable] ?? '';
    const client = new DynamoDBClient({ endpoint: stack.dynamodb_endpoint, region, credentials: localCredentials() });
    const rename = (seq: number) =>
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: keys.log(seq),
          UpdateExpression: 'SET actor.user_name = :name',
          ExpressionAttributeValues: { ':name': 'nobody' },
          ConditionExpression: 'attribute_exists(pk)',
        }),
      );
    await rename(4);
    await rename(6);
    client.destroy();

    expect(await verify()).toEqual([
      1,
      '',
      'Entries up to 3 are intact. Entry 4 does not match the digest in entry 5. 1 more entry does not match.\n',
    ]);
    const { stdout, code } = await run(['history', 'verify', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).misfits.map(({ seq }: { seq: number }) => seq)).toEqual([4, 6]);
  });

  test.each([
    ['yesterday', '--expect takes the number and digest of an entry, as printed by "history verify".\n', 3],
    [`99999:sha-256=${'x'.repeat(43)}`, /Entry 4 .* 2 more entries do not match\.\n$/, 1],
  ])('history verify checks the log against --expect %s', async (expected, message, code) => {
    expect(await run(['history', 'verify', '--expect', expected])).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) });
  });
});

/** Parameters with about 20 KB of JSON. */
function many20Kb(): IntentInput['input_parameters'] {
  return Array.from({ length: 10 }, (_, at) => ({ name: `p${at}`, type: 'string', required: false, description: 'd'.repeat(1_950) }));
}
