import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { maxChangedIntents } from '../../../schemas/intent-changes.ts';
import { openCommandLine } from './command-line.ts';
import { documentOf, documents, requiring, responses, rewrite, serve, startSignedIn } from './signed-in.ts';

const { stack, folder, run, runAlone, succeed, succeedJson, writeTo, createService } = await startSignedIn();

const bakery = join(documents, 'bakery.yaml');
/** as another service than in other tests */
const named = (name: string) => ['--namespace', `${name}.example`, '--name', name];
const slugs = [
  'create-order',
  'delete-orders-by-order-id',
  'download-photo',
  'list-orders',
  'patch-orders-by-order-id',
  'pay-for-an-order',
];
const uids = [...slugs, 'put-orders-by-order-id', 'upload-photo'].map((slug) => `bakery.example:${slug}:v2`);

test('an import shows its changes, then makes them, and changes nothing the second time', async () => {
  const importBakery = (...more: string[]) => succeedJson('import', bakery, '--namespace', 'bakery.example', ...more);
  const shown = await importBakery('--dry-run');
  expect(shown).toMatchObject({ service_id: null, service: { change: 'create' }, create: uids, update: [], extra: [], unchanged: 0 });
  expect(shown.skipped).toHaveLength(1);
  expect(shown.notes).not.toHaveLength(0);
  expect((await run(['services', 'show', 'Bakery orders'])).code).toBe(1);

  const { applied } = await importBakery();
  expect(applied).toEqual({ service_id: expect.any(String), created: 8, updated: 0, removed: 0, failed: [] });
  const again = await importBakery();
  expect(again).toMatchObject({ service_id: applied.service_id, service: { change: 'same' }, create: [], update: [], unchanged: 8 });
  expect(again.applied).toEqual({ service_id: applied.service_id, created: 0, updated: 0, removed: 0, failed: [] });
});

test('an import updates what has changed, and removes only with --prune', async () => {
  await succeed('import', bakery, ...named('changed'));
  const document = parse(await readFile(join(documents, 'bakery.yaml'), 'utf8'));
  document.paths['/orders'].get.summary = 'List all orders';
  delete document.paths['/payments'];
  const file = await writeTo('changed.json', document);
  const words = ['import', file, ...named('changed'), '--json'];

  expect(JSON.parse((await run([...words, '--dry-run'])).stdout)).toMatchObject({
    update: [
      {
        intent_uid: 'changed.example:list-orders:v2',
        differences: [{ path: '/intent_name', before: 'List orders', after: 'List all orders' }],
      },
    ],
    extra: ['changed.example:pay-for-an-order:v2'],
    unchanged: 6,
  });
  expect(await run([...words, '--prune'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Remove this intent of changed? There is no terminal for a confirmation; use --yes.'),
  });
  expect(JSON.parse((await run([...words, '--prune', '--yes'])).stdout).applied).toMatchObject({ updated: 1, removed: 1, failed: [] });
});

test('an import removes the defaults that an earlier release registered, and names each', async () => {
  const limit = { name: 'limit', in: 'query', schema: { type: 'integer', default: 20 } };
  const operations = {
    '/a': { get: { operationId: 'a', parameters: [limit], responses } },
    '/b': { get: { operationId: 'b', responses } },
  };
  const file = await writeTo('defaults.json', documentOf('Defaults', 'https://defaults.example', operations));
  const { applied, removed_defaults } = await succeedJson('import', file);
  expect(removed_defaults).toEqual([]);
  const listed = async () => (await succeed('services', 'list', '--name', 'Defaults', '--defaults', '--json')).trimEnd();
  expect(await listed()).toBe('[]');

  // as an earlier release imported it
  const exported = await succeedJson('export', '--service', 'Defaults');
  exported.services[0].intents[0].input_parameters = [{ name: 'limit', type: 'integer', default: 20 }];
  await succeed('apply', await writeTo('earlier.json', exported));
  expect(JSON.parse(await listed())).toMatchObject([{ service_id: applied.service_id, intents: 2, intents_with_defaults: 1 }]);
  expect(await succeed('services', 'list', '--name', 'Defaults', '--defaults')).toContain('1 of 2');

  const title = 'Defaults that are no longer sent, because the document only says what the service assumes:';
  const named = `${title}\n  limit of defaults.example:a:v1: 20\n`;
  expect(await succeed('import', file, '--dry-run')).toContain(named);
  expect((await succeedJson('import', file, '--dry-run')).removed_defaults).toEqual([
    { intent_uid: 'defaults.example:a:v1', parameter: 'limit', value: 20 },
  ]);
  expect(await succeed('import', file)).toContain(named);
  expect(await listed()).toBe('[]');
  expect(await run(['services', 'list', '--name', 'Defaults', '--defaults'])).toMatchObject({ stderr: 'No intents send defaults.\n' });
});

test('an import does not take over intents of another service', async () => {
  await succeed('import', bakery, ...named('owner'));
  const file = await writeDocument('rival', '2', ['newOne', 'createOrder']);
  const { service_id } = await createService('Rival', 'https://rival.example', 'Another');
  const words = ['import', file, '--namespace', 'owner.example', '--service', service_id];
  expect(await run([...words, '--dry-run', '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"foreign": [\n    "owner.example:create-order:v2"\n  ]'),
  });
  const { code, stdout } = await run(words);
  expect(code).toBe(1);
  expect(stdout).toContain('! owner.example:create-order:v2: Another service has this intent_uid.');
  expect(stdout).toContain('Rival: 1 created, 0 changed, 0 removed, 1 failed');
});

/** A document with an operation for each operationId, and `unfit` operations that cannot be imported. */
async function writeDocument(name: string, version: string, operationIds: readonly string[], unfit = 0): Promise<string> {
  const taken = operationIds.map((operationId) => [`/${operationId}`, { get: { operationId, responses } }]);
  const left = Array.from({ length: unfit }, (_, at) => [`/unfit/${at}`, { get: { $ref: './other.yaml#/get' } }]);
  const document = documentOf(name, `https://${name}.example`, Object.fromEntries([...taken, ...left]), {
    info: { title: name, version },
  });
  return writeTo(`${name}.json`, document);
}

const notRead =
  'The document refers to a file that was not read: ./other.yaml. Import the folder that contains all parts, or give that folder with --with.\n';

test('an import registers nothing if no operation can be imported', async () => {
  const { code, stdout, stderr } = await run(['import', await writeDocument('hollow', '1', [], 3)]);
  expect([code, stderr]).toEqual([1, `${notRead}No operation in the document can be imported, so nothing was registered.\n`]);
  expect(stdout).toMatch(/^Skipped:\n {2}GET \/unfit\/0 cannot be read: the reference points to another file, which was not read: /);
  await createService('hollow', 'https://hollow.example', 'x');
});

test('an import exits with 1 if it skips more operations than it imports', async () => {
  const { code, stdout, stderr } = await run(['import', await writeDocument('half', '1', ['a', 'b'], 3)]);
  expect([code, stderr]).toEqual([1, `${notRead}More operations were skipped (3) than imported (2). The reasons are listed above.\n`]);
  expect(stdout).toContain('half: 2 created, 0 changed, 0 removed\n');
  expect((await run(['import', await writeDocument('even', '1', ['a', 'b'], 2)])).code).toBe(0);
});

test('an import keeps the registered version, unless another one is requested', async () => {
  await succeed('import', await writeDocument('releases', '1.9', ['a', 'b']));
  const next = await writeDocument('releases', '2.0', ['a', 'c']);
  const kept = await succeed('import', next);
  expect(kept).toContain(
    'The document has version v2, but the registered intents keep v1. --intent-version v2 would create 2 new intents in addition; add --deprecate-older to mark those of v1 as deprecated.\n',
  );
  expect(kept).toContain('releases: 1 created, 0 changed, 0 removed\n');
  const told = await succeedJson('import', next, '--intent-version', 'v2', '--deprecate-older');
  expect(told).toMatchObject({
    create: ['releases.example:a:v2', 'releases.example:c:v2'],
    update: ['a', 'c'].map((slug) => ({
      intent_uid: `releases.example:${slug}:v1`,
      differences: [{ path: '/deprecated', after: true }],
    })),
    extra: ['releases.example:b:v1'],
  });
});

test('an import lists intents that are no longer in the document, before and after, and keeps older versions with a successor', async () => {
  await succeed('import', await writeDocument('gone', '1', ['a', 'b', 'c']));
  await succeed('import', await writeDocument('gone', '2', ['a']), '--intent-version', 'v2');
  const document = await writeDocument('gone', '2', ['a']);
  const listed =
    '2 intents are not in the document and are kept (use --prune to remove them):\n    gone.example:b:v1\n    gone.example:c:v1\n';
  expect(await succeed('import', document, '--dry-run')).toContain(listed);
  expect(await succeed('import', document)).toContain(`gone: 0 created, 0 changed, 0 removed\n${listed}`);
  const asked = await run(['import', document, '--prune']);
  expect(asked).toMatchObject({ code: 3, stderr: expect.stringContaining('Remove these 2 intents of gone?') });
  expect(asked.stdout).toContain('2 intents are not in the document and will be removed:\n  - gone.example:b:v1\n  - gone.example:c:v1\n');
  const pruned = await succeed('import', document, '--prune', '--yes');
  expect(pruned).toContain(
    'gone: 0 created, 0 changed, 2 removed\n2 intents are not in the document and were removed:\n  - gone.example:b:v1\n',
  );
  expect((await succeedJson('intents', 'show', 'gone.example:a:v1')).deprecated).toBe(false);
});

test('an import accepts a folder, and lists the files that it reads', async () => {
  const api = join(folder, 'in-parts');
  await mkdir(api);
  const paths = { '/a': { $ref: './a.json' }, '/b': { $ref: './b.json' } };
  await writeTo('in-parts/openapi.json', documentOf('In parts', 'https://parts.example', paths));
  await writeTo('in-parts/a.json', { get: { operationId: 'act', responses } });
  const { code, stdout, stderr } = await run(['import', api, '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Read:\n {2}openapi\.json\n {2}a\.json\n/);
  expect(stderr).toContain('The document refers to a file that was not read: ./b.json.');
  expect((await succeedJson('import', join(api, 'openapi.json'), '--with', api, '--dry-run')).files).toEqual(['openapi.json', 'a.json']);
  expect((await run(['import', join(api, 'openapi.json'), '--dry-run', '--json'])).code).toBe(1);
  expect(await run(['import', 'https://parts.example/openapi.json', '--with', api])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('--with needs the address of a folder, because the document is at an address.'),
  });
});

test('an import keeps and reports values set by hand that the document leaves open', async () => {
  const file = await writeDocument('by-hand', '1', ['a', 'b']);
  const { applied } = await succeedJson('import', file);
  const edit = async (noun: string, id: string, members: object) => {
    const edited = await writeTo('by-hand-edited.json', { ...(await succeedJson(noun, 'show', id)), ...members });
    await succeed(noun, 'update', id, '--file', edited);
  };
  await edit('services', applied.service_id, { service_name: 'Renamed by hand', description: 'By hand' });
  await edit('intents', 'by-hand.example:a:v1', { description: 'By hand', tags: ['own'], draft: true });

  const kept = {
    service: ['/service_name', '/description'],
    intents: [{ intent_uid: 'by-hand.example:a:v1', members: expect.arrayContaining(['/description', '/tags']) }],
  };
  const told =
    'Kept as they are, because you decide them or the document does not set them:\n  service_name of the service\n  description of the service\n';
  expect(await succeed('import', file, '--dry-run')).toContain(told);
  expect(await succeedJson('import', file, '--dry-run')).toMatchObject({ service: { change: 'same' }, update: [], unchanged: 2, kept });
  expect(await succeed('import', file)).toContain(told);
});

test('an import does not mistake a service at the same host with a few of its uids for its own', async () => {
  const orders = await writeDocument('orders', '1', ['status', 'a', 'b', 'c']);
  const first = await succeedJson('import', orders, '--namespace', 'shared.example');
  const billing = await writeDocument('billing', '1', ['status', 'd', 'e', 'f']);
  await rewrite(billing, (text) => text.replace('https://billing.example', 'https://orders.example'));
  const second = JSON.parse((await run(['import', billing, '--namespace', 'shared.example', '--json'])).stdout);
  expect(second).toMatchObject({ service_id: null, foreign: [], applied: { created: 3 } });
  expect(second.applied.failed).toEqual([expect.objectContaining({ intent_uid: 'shared.example:status:v1' })]);
  expect(await succeedJson('services', 'show', 'orders')).toMatchObject({ service_id: first.applied.service_id });
  // with another title, it is the same service
  await rewrite(orders, (text) => text.replace('"title":"orders"', '"title":"Orders, renamed"'));
  const renamed = await succeedJson('import', orders, '--namespace', 'shared.example', '--dry-run');
  expect(renamed).toMatchObject({ service_id: first.applied.service_id, create: [], unchanged: 4 });
  // the same uids with other calls are another API
  await rewrite(orders, (text) => text.replaceAll('"/', '"/other/').replace('Orders, renamed', 'Other orders'));
  expect(await succeedJson('import', orders, '--namespace', 'shared.example', '--dry-run')).toMatchObject({ service_id: null });
});

test('an import does not mistake another API with the same title for its own', async () => {
  const titled = async (name: string, slugs: string[]) => {
    const file = await writeDocument(name, '1', slugs);
    await rewrite(file, (text) => text.replace(`"title":"${name}"`, '"title":"FastAPI"'));
    return file;
  };
  const { applied } = await succeedJson('import', await titled('shop', ['root', 'a', 'b']));
  const other = await titled('bank', ['root', 'c', 'd']);
  const { service_id: id } = applied;
  expect(await run(['import', other])).toMatchObject({
    code: 1,
    stderr: `Another API is registered under this name at a different address: ${id}. Nothing was changed. Give this one a different name with --name or, if the API has moved, run "intent-gate services update ${id} --address <url>" first.\n`,
  });
  expect(await succeedJson('services', 'show', id)).toMatchObject({ service_url: 'https://shop.example' });
  expect((await succeedJson('import', other, '--name', 'Bank')).applied).toMatchObject({ created: 3 });
  // with most of the same calls, it is the same API at another address
  const moved = await succeedJson('import', await titled('store', ['root', 'a', 'e']), '--namespace', 'shop.example');
  expect(moved).toMatchObject({ service_id: id, create: ['shop.example:e:v1'], extra: ['shop.example:b:v1'] });
});

test('an import sets header fields for the service, keeps existing ones, and prints the command for the credential', async () => {
  const parameters = ['Api-Version', 'X-Trace', 'token'].map((name) => ({ name, in: 'header', schema: { type: 'string' } }));
  const paths = { '/a': { get: { operationId: 'a', parameters, responses } } };
  const key = { type: 'apiKey', in: 'query', name: 'key' };
  const file = await writeTo('fields.json', documentOf('Fields', 'https://fields.example', paths, requiring(key)));
  const words = ['import', file, '--header', 'Api-Version: 2026-01', '--ignore-header', 'x-trace'];
  const { applied, credential_command } = await succeedJson(...words);
  expect(credential_command).toBe(`intent-gate services credential set ${applied.service_id} --query key`);
  expect(await succeedJson('services', 'show', 'Fields')).toMatchObject({ headers: { 'Api-Version': '2026-01' } });
  expect((await succeedJson('intents', 'show', 'fields.example:a:v1')).input_parameters).toEqual([]);
  await succeed('import', file, '--ignore-header', 'x-trace');
  expect(await succeedJson('services', 'show', 'Fields')).toMatchObject({ headers: { 'Api-Version': '2026-01' } });
  expect(await run(['import', file, '--header', 'nonsense'])).toMatchObject({
    code: 3,
    stderr: "--header takes a name and a value, for example 'Api-Version: 2'.\n",
  });
});

test('an import says which addresses a deployment would refuse', async () => {
  const file = await writeDocument('plain', '1', ['a']);
  await rewrite(file, (text) => text.replace('https://plain.example', 'http://plain.example:8080'));
  expect((await succeedJson('import', file, '--dry-run')).notes).toEqual([
    { path: '/servers', note: 'a deployment would refuse http://plain.example:8080: it must begin with https://' },
  ]);
});

test('an import reads stdin, and addresses that the egress rules allow', async () => {
  const document = await readFile(join(documents, 'warehouse.yaml'), 'utf8');
  const { address, stop } = await serve((_, response) => response.end(document));
  try {
    const planned = ['get-items', 'get-report', 'items-post', 'post-items-by-id-image', 'post-legacy', 'put-items-by-id'].map(
      (slug) => `stock.example:${slug}:v1`,
    );
    expect(JSON.parse((await run(['import', '-', '--dry-run', '--json'], document)).stdout).create).toEqual(planned);
    expect((await succeedJson('import', `${address}/spec.yaml`, '--dry-run')).create).toEqual(planned);
    expect(await run(['import', 'https://10.0.0.1/spec.yaml'])).toMatchObject({
      code: 3,
      stderr: 'The address of the document must name its host by a full public domain name, not by an address or a local name.\n',
    });
  } finally {
    await stop();
  }
});

test('an import ends with the command that sets the credential, and notes other origins', async () => {
  const away = { operationId: 'away', servers: [{ url: 'https://away.example' }], responses };
  const paths = { '/a': { get: { operationId: 'home', responses } }, '/b': { get: away } };
  const document = documentOf('Keyed', 'https://keyed.example', paths, requiring({ type: 'apiKey', in: 'query', name: 'appid' }));
  const { code, stdout } = await run(['import', '-'], JSON.stringify(document));
  expect(code).toBe(0);
  expect(stdout).toContain('GET /b is at https://away.example, but the service is at https://keyed.example; --allow-origin');
  const [, id] =
    /\nSet the credential of the service with: npx intent-gate services credential set (\w{26}) --query appid\n$/.exec(stdout) ?? [];
  expect(id).toBeDefined();
  const allowed = await run(['import', '-', '--allow-origin', 'https://away.example', '--json'], JSON.stringify(document));
  expect(JSON.parse(allowed.stdout)).toMatchObject({
    create: ['keyed.example:away:v1'],
    other_origins: ['https://away.example'],
    credential_command: `intent-gate services credential set ${id} --query appid`,
  });
  expect(await run(['import', '-', '--allow-origin', 'https://away.example/x'], JSON.stringify(document))).toMatchObject({ code: 3 });
  const file = join(folder, 'keyed.yaml');
  await succeed('export', '--service', String(id), '-o', file);
  expect(await run(['apply', file])).toMatchObject({
    code: 0,
    stderr:
      'Some intents of Keyed call https://away.example, which is not the origin of its service_url. The credential is sent there only if its origins include it.\n',
  });
});

test('an import whose output is not read does its work', async () => {
  const words = ['import', bakery, ...named('unread'), '--verbose'];
  expect((await runAlone(words, '', true)).code).toBe(0);
  await succeed('services', 'delete', 'unread', '--yes');
});

test.each(['SIGINT', 'SIGKILL'] as const)(
  'an import that %s stops leaves whole batches, and the same command makes the rest',
  async (signal) => {
    const count = 4 * maxChangedIntents;
    const paths = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`/op${at}`, { get: { operationId: `op${at}`, responses } }]),
    );
    const file = await writeTo('many.json', documentOf('Many', 'https://many.example', paths));
    // Ctrl-C arrives while the gate makes the second batch, SIGKILL before its response is sent
    let stop = () => {};
    let batches = 0;
    const proxy = await serve(async (request, response) => {
      const { method = 'GET', url = '', headers } = request;
      const { 'content-type': contentType, authorization } = headers;
      const named = { ...(contentType && { 'Content-Type': contentType }), ...(authorization && { Authorization: authorization }) };
      const body = method === 'GET' ? null : await buffer(request);
      const isSecond = url.endsWith('/changes') && ++batches === 2;
      if (isSecond && signal === 'SIGINT') stop();
      const answer = await fetch(stack.base_url + url, { method, headers: named, body });
      if (isSecond && signal === 'SIGKILL') stop();
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
    });
    const { runAlone } = await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.admin_token });
    const stopped = await runAlone(['import', file, '--url', proxy.address], '', false, async (child) => {
      stop = () => child.kill(signal);
    });
    await proxy.stop();
    const [{ intents: made }] = await succeedJson('services', 'list', '--name', 'Many');
    expect(made).toBe(2 * maxChangedIntents);
    expect(stopped).toMatchObject(
      signal === 'SIGKILL'
        ? { code: null, stderr: '' }
        : {
            code: 130,
            stderr: `Finishing the requests in progress. Press Ctrl-C again to stop immediately.\nStopped: ${made} of ${count} changes to Many were made, ${count - made} remain. Run the same command again to finish.\n`,
          },
    );
    expect(await succeed('import', file)).toContain(`Many: ${count - made} created, 0 changed, 0 removed\n`);
    await succeed('services', 'delete', 'Many', '--yes');
  },
);
