import { mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { chooseBaseUrl } from '../../../bin/cli/context.ts';
import { close, listen } from '../../../bin/local/http.ts';
import { maxChangedIntents } from '../../../schemas/intent.ts';
import { startApi } from '../../e2e/api.ts';
import { makeFolder } from '../../support/folder.ts';
import { intentOf } from '../../support/records.ts';
import { type CommandLine, type Outcome, openCommandLine, openSignedIn } from './command-line.ts';

const { stack } = await startApi({ demo: true, context: { agentIds: 'shared' } });
const folder = makeFolder();
const secret = 'canary-s3cr3t';
const environment = { TOKEN: `Bearer ${secret}`, NEW: `Bearer ${secret} new` };
const { run, runAlone, succeed, succeedJson, home } = await openSignedIn(folder, stack, environment);
/** a separate agent, so that no other test has accepted the policy for it */
const someone = await openCommandLine(folder);
/** with a token that the gate does not accept */
const stranger = await openCommandLine(folder, { INTENT_GATE_TOKEN: 'x.y.z' });

const documents = fileURLToPath(new URL('../../registry/import/documents/', import.meta.url));

const createService = (name: string, address: string, description: string, ...more: string[]) =>
  succeedJson('services', 'create', '--name', name, '--address', address, '--description', description, ...more);
/** Writes JSON or text to a file in the folder. @returns its path */
async function writeTo(name: string, content: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
/** An OpenAPI document. */
const documentOf = (title: string, url: string, paths: object, more: object = {}) => ({
  ...{ openapi: '3.1.0', info: { title, version: '1' }, servers: [{ url }] },
  ...{ paths, ...more },
});
const responses = { 200: { description: 'Done' } };
const requiring = (key: object) => ({ components: { securitySchemes: { key } } });
const rewrite = async (file: string, change: (text: string) => string) => writeFile(file, change(await readFile(file, 'utf8')));
async function serve(answer: RequestListener) {
  const server = createServer(answer);
  return { address: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
}

// first, while there is little to export and to compare
test.each(['command-line.md', 'import.md'])('the commands in %s work', async (name) => {
  const page = await readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
  const { runScript } = await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.admin_token });
  const outcome = await runScript(
    blocks
      .join('\n')
      .replaceAll('/tmp/', `${folder}/`)
      .replaceAll(' samples/', ` ${fileURLToPath(new URL('../../../samples', import.meta.url))}/`),
  );
  expect(outcome).toMatchObject({ code: 0 });
});

describe('import', () => {
  const namespace = 'bakery.example';
  const importBakery = (...more: string[]) => succeedJson('import', join(documents, 'bakery.yaml'), '--namespace', namespace, ...more);
  const slugs = [
    'create-order',
    'delete-orders-by-order-id',
    'download-photo',
    'list-orders',
    'patch-orders-by-order-id',
    'pay-for-an-order',
  ];
  const uids = [...slugs, 'put-orders-by-order-id', 'upload-photo'].map((slug) => `${namespace}:${slug}:v2`);

  test('shows the changes, then makes them, and changes nothing the second time', async () => {
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

  test('updates what has changed, and removes only with --prune', async () => {
    const document = parse(await readFile(join(documents, 'bakery.yaml'), 'utf8'));
    document.paths['/orders'].get.summary = 'List all orders';
    delete document.paths['/payments'];
    const file = await writeTo('changed.json', document);
    const words = ['import', file, '--namespace', namespace, '--json'];

    expect(JSON.parse((await run([...words, '--dry-run'])).stdout)).toMatchObject({
      update: [
        {
          intent_uid: `${namespace}:list-orders:v2`,
          differences: [{ path: '/intent_name', before: 'List orders', after: 'List all orders' }],
        },
      ],
      extra: [`${namespace}:pay-for-an-order:v2`],
      unchanged: 6,
    });
    expect(await run([...words, '--prune'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Remove this intent of Bakery orders? There is no terminal for a confirmation; use --yes.'),
    });
    expect(JSON.parse((await run([...words, '--prune', '--yes'])).stdout).applied).toMatchObject({ updated: 1, removed: 1, failed: [] });
  });

  test('removes the defaults that an earlier release registered, and names each', async () => {
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
    expect(await succeed('services', 'list', '--name', 'Defaults', '--defaults')).toContain('1 of 2 intents');

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

  test('does not take over intents of another service', async () => {
    const file = await writeDocument('rival', '2', ['newOne', 'createOrder']);
    const { service_id } = await createService('Rival', 'https://rival.example', 'Another');
    const words = ['import', file, '--namespace', namespace, '--service', service_id];
    expect(await run([...words, '--dry-run', '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"foreign": [\n    "bakery.example:create-order:v2"\n  ]'),
    });
    const { code, stdout } = await run(words);
    expect(code).toBe(1);
    expect(stdout).toContain('! bakery.example:create-order:v2: Another service has this intent_uid.');
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

  test('registers nothing if no operation can be imported', async () => {
    const { code, stdout, stderr } = await run(['import', await writeDocument('hollow', '1', [], 3)]);
    expect([code, stderr]).toEqual([1, `${notRead}No operation in the document can be imported, so nothing was registered.\n`]);
    expect(stdout).toMatch(/^Skipped:\n {2}GET \/unfit\/0 cannot be read: the reference points to another file, which was not read: /);
    await createService('hollow', 'https://hollow.example', 'x');
  });

  test('exits with 1 if it skips more operations than it imports', async () => {
    const { code, stdout, stderr } = await run(['import', await writeDocument('half', '1', ['a', 'b'], 3)]);
    expect([code, stderr]).toEqual([1, `${notRead}More operations were skipped (3) than imported (2). The reasons are listed above.\n`]);
    expect(stdout).toContain('half: 2 created, 0 changed, 0 removed\n');
    expect((await run(['import', await writeDocument('even', '1', ['a', 'b'], 2)])).code).toBe(0);
  });

  test('keeps the registered version, unless another one is requested', async () => {
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

  test('lists intents that are no longer in the document, before and after, and keeps older versions with a successor', async () => {
    await succeed('import', await writeDocument('gone', '1', ['a', 'b', 'c']));
    await succeed('import', await writeDocument('gone', '2', ['a']), '--intent-version', 'v2');
    const document = await writeDocument('gone', '2', ['a']);
    const listed =
      '2 intents are not in the document and are kept (use --prune to remove them):\n    gone.example:b:v1\n    gone.example:c:v1\n';
    expect(await succeed('import', document, '--dry-run')).toContain(listed);
    expect(await succeed('import', document)).toContain(`gone: 0 created, 0 changed, 0 removed\n${listed}`);
    const asked = await run(['import', document, '--prune']);
    expect(asked).toMatchObject({ code: 3, stderr: expect.stringContaining('Remove these 2 intents of gone?') });
    expect(asked.stdout).toContain(
      '2 intents are not in the document and will be removed:\n  - gone.example:b:v1\n  - gone.example:c:v1\n',
    );
    const pruned = await succeed('import', document, '--prune', '--yes');
    expect(pruned).toContain(
      'gone: 0 created, 0 changed, 2 removed\n2 intents are not in the document and were removed:\n  - gone.example:b:v1\n',
    );
    expect((await succeedJson('intents', 'show', 'gone.example:a:v1')).deprecated).toBe(false);
  });

  test('accepts a folder, and lists the files that it reads', async () => {
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
  });

  test('keeps and reports values set by hand that the document leaves open', async () => {
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

  test('does not mistake a service at the same host with a few of its uids for its own', async () => {
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

  test('does not mistake another API with the same title for its own', async () => {
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

  test('sets header fields for the service, keeps existing ones, and prints the command for the credential', async () => {
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

  test('says which addresses a deployment would refuse', async () => {
    const file = await writeDocument('plain', '1', ['a']);
    await rewrite(file, (text) => text.replace('https://plain.example', 'http://plain.example:8080'));
    expect((await succeedJson('import', file, '--dry-run')).notes).toEqual([
      { path: '/servers', note: 'a deployment would refuse http://plain.example:8080: it must begin with https://' },
    ]);
  });

  test('reads stdin, and addresses that the egress rules allow', async () => {
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
});

describe('registry as code', () => {
  test('an exported file shows no drift; an edited one does until it is applied', async () => {
    const file = join(folder, 'registry.yaml');
    await succeed('export', '--service', 'World facts', '-o', file);
    expect(await run(['diff', file])).toEqual({ code: 0, stdout: 'The registry matches the file.\n', stderr: '' });
    const exported = await readFile(file, 'utf8');
    expect(exported).toContain('- intent_uid: world.example:convert-time:v1');

    await writeFile(file, exported.replace('intent_name: Describe a country', 'intent_name: Tell about a country'));
    const drift = await run(['diff', file]);
    expect(drift.code).toBe(2);
    expect(drift.stdout).toContain('/intent_name: "Describe a country" -> "Tell about a country"');
    expect(drift.stderr).toBe('The registry differs from the file. Run "apply" to update it; --prune also removes intents.\n');
    expect(await succeed('apply', file)).toBe('World facts: 0 created, 1 changed, 0 removed\n');
    expect((await run(['diff', file])).code).toBe(0);

    await succeed('intents', 'delete', 'world.example:get-country:v1', '--yes');
    expect(await succeed('apply', file)).toBe('World facts: 1 created, 0 changed, 0 removed\n');
    await succeed('export', '--service', 'World facts', '-o', file);
    expect(await readFile(file, 'utf8')).toBe(exported.replace('intent_name: Describe a country', 'intent_name: Tell about a country'));
  });
});

describe('an export', () => {
  test('that fails leaves the existing file unchanged', async () => {
    const file = join(folder, 'kept.yaml');
    await succeed('export', '--service', 'World facts', '-o', file);
    const before = await readFile(file, 'utf8');
    expect((await run(['export', '--service', 'World facts', '--service', 'None', '-o', file])).code).toBe(1);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect((await readdir(folder)).filter((name) => name.includes('.new-'))).toEqual([]);
    expect(await run(['export', '--service', 'World facts', '-o', join(folder, 'none', 'x.yaml')])).toMatchObject({
      code: 3,
      stderr: `The file ${join(folder, 'none', 'x.yaml')} cannot be written (ENOENT).\n`,
    });
  });

  test('into a folder writes a file for each service, which diff and apply read as one registry', async () => {
    const files = join(folder, 'services');
    const services = ['World facts', 'even'].flatMap((name) => ['--service', name]);
    await succeed('export', ...services, '--folder', files);
    expect(await readdir(files)).toEqual(['even.yaml', 'world-facts.yaml']);
    expect(await run(['diff', files])).toMatchObject({ code: 0 });
    await writeFile(join(files, 'copy.yaml'), await readFile(join(files, 'even.yaml')));
    expect(await run(['apply', files])).toMatchObject({
      code: 3,
      stderr: 'The intent even.example:a:v1 is in copy.yaml and in even.yaml. Remove it from one of them.\n',
    });
  });
});

describe('drafts and changes', () => {
  test('a draft can be applied, compared and published, and the history shows every change', async () => {
    const service = {
      service_name: 'Drafted',
      service_url: 'https://draft.example',
      description: 'Is not ready',
      namespace: 'draft.example',
    };
    const intent = intentOf('draft.example:act:v1', {
      intent_name: 'Act',
      endpoint: { method: 'POST', url: 'https://draft.example/act', content_type: 'application/json' },
    });
    const write = (more: object) => writeTo('drafts.json', { registry: 1, services: [{ ...service, intents: [{ ...intent, ...more }] }] });
    const file = await write({ draft: true });
    const [{ applied }] = await succeedJson('apply', file);
    const { service_id: id } = applied;
    expect(await succeed('intents', 'show', 'draft.example:act:v1')).toContain('https://draft.example/act (draft)');
    expect(await succeed('intents', 'list', '--service', id)).toBe('draft.example:act:v1  Act  draft\n');

    await write({});
    expect((await run(['diff', file])).stdout).toContain('/draft: true -> nothing');
    await succeed('apply', file);
    const lines = (await succeed('history', '--id', 'draft.example:act:v1', '--json')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line)).map(({ changes, actor }) => [changes[0].action, actor.user_name])).toEqual([
      ['update', 'admin'],
      ['create', 'admin'],
    ]);
    expect(await succeed('history', '--since', '1h', '--kind', 'service', '--actor', 'admin')).toMatch(
      new RegExp(`^\\d+ +\\d{4}-.+Z  admin  create +service  ${id}$`, 'm'),
    );
    await succeed('services', 'delete', id, '--yes');
  }, 120_000);
});

describe('services and intents', () => {
  test('are created, shown, changed and deleted', async () => {
    const file = await writeTo(
      'intent.yaml',
      'intent_uid: hand.example:act:v1\nintent_name: Act\ndescription: Acts\ninput_parameters: []\noutput_parameters: []\nendpoint: https://hand.example/\n',
    );
    const { service_id } = await createService('By hand', 'https://hand.example', 'Made by hand');
    expect(await succeed('intents', 'create', '--service', service_id, '-f', file)).toBe('Created hand.example:act:v1.\n');
    expect((await succeedJson('services', 'list')).map((one: { service_name: string }) => one.service_name)).toContain('By hand');
    expect(await succeed('intents', 'list', '--service', 'by  HAND')).toBe('hand.example:act:v1  Act\n');
    expect(await succeedJson('services', 'update', service_id, '--description', 'Changed')).toMatchObject({
      service_name: 'By hand',
      description: 'Changed',
    });
    expect(await succeed('intents', 'show', 'hand.example:act:v1')).toBe(
      'Act hand.example:act:v1\nBy hand: POST https://hand.example/\nActs\n',
    );
    await succeed('services', 'delete', service_id, '--yes');
    expect(await run(['intents', 'show', 'hand.example:act:v1'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/^NOT_FOUND: /) });
  });

  test('a service is paused and resumed; a file that does not mention the pause does not resume it', async () => {
    const file = await writeTo('paused.json', {
      registry: 1,
      services: [{ service_name: 'Pausable', service_url: 'https://pause.example', description: 'Pauses', intents: [] }],
    });
    const [{ applied }] = await succeedJson('apply', file);
    const { service_id } = applied;
    expect(await succeed('services', 'pause', 'pausable')).toBe('Paused Pausable: its intents are no longer executed.\n');
    expect(await succeed('services', 'list', '--name', 'Pausable')).toContain('  paused');
    await succeed('services', 'update', service_id, '--description', 'Pauses');
    expect((await run(['diff', file])).code).toBe(0);
    expect((await succeedJson('export', '--service', service_id)).services[0]).toMatchObject({ paused: true });

    await rewrite(file, (text) => text.replace('"intents"', '"paused":false,"intents"'));
    expect((await run(['diff', file])).stdout).toContain('/paused: true -> nothing');
    await succeed('apply', file);
    expect(await succeedJson('export', '--service', service_id)).not.toHaveProperty('services.0.paused');

    expect(await succeedJson('services', 'pause', service_id)).toEqual({ service_id, paused: true });
    expect(await succeed('services', 'resume', service_id)).toBe('Resumed Pausable.\n');
    expect(await run(['services', 'pause', 'Nothing of this name'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^No service has this name or id/),
    });
    await succeed('services', 'delete', service_id, '--yes');
  });

  test('a refusal is shown with every issue', async () => {
    const file = await writeTo(
      'wrong.yaml',
      'intent_uid: wrong.example:act:v1\nintent_name: Act\ndescription: Acts\ninput_parameters: [{ name: a, type: string, pattern: (a }]\noutput_parameters: []\nendpoint: ftp://x\n',
    );
    const { code, stderr } = await run(['intents', 'create', '--service', 'World facts', '-f', file]);
    expect(code).toBe(1);
    expect(stderr).toContain('\n  /input_parameters/0/pattern must be ');
    expect(stderr).toContain('\n  /endpoint/url must begin with https://');
  });

  test('an unknown uid is answered with the nearest ones', async () => {
    expect(await run(['intents', 'show', 'world.example:get-contry:v1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^NOT_FOUND: [^\n]+\n {2}nearest: world\.example:get-country:v1(, [^\n]+)?\n {2}request [^\n]+\n$/),
    });
  });
});

describe('credentials of services', () => {
  test('are set from stdin, variables and files, shown without values, and removed', async () => {
    const fixed = ['--header', 'Notion-Version: 2022-06-28'];
    const { service_id } = await createService('Recognised', 'https://known.example/v1', 'Knows its callers', ...fixed);
    expect(await succeedJson('services', 'show', service_id)).toMatchObject({ headers: { 'Notion-Version': '2022-06-28' } });
    const credential = (verb: string, ...more: string[]) => ['services', 'credential', verb, service_id, ...more];
    expect(await run(credential('show'))).toMatchObject({ code: 0, stdout: 'Recognised has no credential.\n' });

    const first = await run(credential('set', '--header', 'Authorization', '--query', 'key'), `Bearer ${secret}\n${secret}\n`);
    const stdout = 'Calls to Recognised are sent with header Authorization, query key, only to https://known.example.\n';
    expect(first).toMatchObject({ code: 0, stderr: '', stdout });
    const set_at = expect.any(String);
    const shown = { headers: ['Authorization'], query: ['key'], origins: ['https://known.example'], set_at, set_by: expect.any(String) };
    expect(await succeedJson(...credential('show'))).toEqual(shown);

    const variables = ['--header-from-env', 'Authorization=TOKEN', '--next-header-from-env', 'Authorization=NEW'];
    const origins = ['--origin', 'https://a.example', '--origin', 'https://b.example:443'];
    const outcome = await run([...credential('set', ...variables, ...origins), '--json']);
    expect(JSON.parse(outcome.stdout)).toEqual({
      service_id,
      headers: ['Authorization'],
      query: [],
      origins: ['https://a.example', 'https://b.example'],
      next: { headers: ['Authorization'], query: [] },
    });

    const file = await writeTo('credential.yaml', `headers: { X-Key: ${secret} }\norigins: [https://c.example]\n`);
    await succeed(...credential('set', '--file', file));
    expect(await succeedJson(...credential('show'))).toMatchObject({ headers: ['X-Key'], origins: ['https://c.example'] });
    expect(first.stdout + outcome.stdout + outcome.stderr).not.toContain(secret);

    expect(await succeed(...credential('remove', '--yes'))).toBe('Removed the credential of Recognised.\n');
    expect(await succeedJson(...credential('show'))).toBeNull();
    await succeed('services', 'delete', service_id, '--yes');
  });

  test.each([
    [['--header', `Authorization: Bearer ${secret}`], 'takes only a name, for example --header Authorization.'],
    [['--header', `Authorization=${secret}`], 'takes only a name, for example --header Authorization.'],
    [['--header-from-env', `Authorization:${secret}`], 'takes a name and a variable, for example Authorization=TOKEN.'],
    [['--header-from-env', 'Authorization=NOWHERE'], 'The variable that --header-from-env names for Authorization is not set.'],
    [['--header', 'Authorization'], 'stdin has no line with the value of Authorization.'],
    [['--header', 'Host', '--query', 'a'], '/headers/Host must not be a header field that calls already carry'],
    [[], 'No values given. Name one, for example with --header Authorization'],
  ])('are refused in words for %j, which repeat no value', async (words, complaint) => {
    const input = words.includes('Host') ? `${secret}\n${secret}\n` : '';
    const { code, stdout, stderr } = await run(['services', 'credential', 'set', 'World facts', ...words], input);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain(complaint);
    expect(stderr).not.toContain(secret);
  });

  test.each(['\u2028', '\u2029'])('are read from stdin up to the end of the line, past %j', async (separator) => {
    const words = ['services', 'credential', 'set', 'World facts', '--header', 'X-One', '--query', 'two'];
    const { code, stderr } = await run(words, `${secret}${separator}${secret}\n${secret}\n`);
    expect(code).toBe(3);
    expect(stderr).toContain('/headers/X-One ');
    expect(stderr).not.toContain(secret);
  });

  test('are shown to admins only', async () => {
    expect(await stranger.run(['services', 'credential', 'show', 'World facts'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("The gate does not accept the token as an admin's. Sign in with: npx intent-gate login\n"),
    });
  });

  test('are requested at the end of an import, with the command, and other origins are noted', async () => {
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
});

describe('credentials on this machine', () => {
  const pasted = async (scheme: object, input: string, ...options: string[]) => {
    const seen: (string | undefined)[] = [];
    const { address, stop } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.setHeader('Content-Type', 'application/json').end('{"is":"well"}');
    });
    const port = new URL(address).port;
    const document = documentOf(
      `At home ${port}`,
      address,
      { '/health': { get: { operationId: 'askAtHome', responses } } },
      requiring(scheme),
    );
    const words = ['import', '-', '--namespace', `home-${port}.example`, '--url', stack.base_url];
    const { stdout } = await run(words, JSON.stringify(document));
    const [, command = ''] = /\nSet the credential of the service with: npx intent-gate (.+)\n$/.exec(stdout) ?? [];
    const set = await run([...command.split(' '), ...options], input);
    const uid = `home-${port}.example:ask-at-home:v1`;
    const tried = await someone.run(['try', '--intent', uid, '--accept-policy', '--json', '--url', stack.base_url]);
    await stop();
    return { command, set, seen, tried };
  };

  test.each<[string, object, string, string, string]>([
    ['a bearer token', { type: 'http', scheme: 'bearer' }, '--bearer', 'sk_token\n', 'Bearer sk_token'],
    ['a bearer token that is given with its scheme', { type: 'oauth2', flows: {} }, '--bearer', 'Bearer sk_token\n', 'Bearer sk_token'],
    ['a name and a password', { type: 'http', scheme: 'basic' }, '--basic', 'Aladdin:open sesame\n', 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
  ])('are set by the command that an import prints: %s', async (_, scheme, option, input, header) => {
    const { command, set, seen, tried } = await pasted(scheme, input);
    expect(command).toMatch(new RegExp(`^services credential set \\w{26} ${option} --url ${stack.base_url}$`));
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(tried).toMatchObject({ code: 0 });
    expect(seen).toEqual([header]);
  });

  test('are refused if invalid, with a warning if most services would not accept them', async () => {
    const { set } = await pasted({ type: 'http', scheme: 'basic' }, 'no password\n');
    expect(set).toMatchObject({ code: 3, stdout: '', stderr: '--basic needs a name and a password, separated by a colon.\n' });
    const credential = ['services', 'credential', 'set', 'World facts'];
    expect(await run([...credential, '--next-header', 'Authorization'], 'x\n')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        'Give the current values as well, for example --header Authorization --next-header Authorization, because',
      ),
    });
    const { service_id } = await createService('Bare', 'https://bare.example', 'x');
    const bare = await run(['services', 'credential', 'set', service_id, '--header', 'Authorization'], 'sk_live_1\n');
    expect(bare).toMatchObject({
      code: 0,
      stderr: 'The value of Authorization has no scheme. Most services expect "Bearer <token>", which --bearer adds.\n',
    });
    await succeed('services', 'delete', service_id, '--yes');
  });
});

describe('in a terminal', () => {
  test.each<[string[]]>([[['--help']], [['services', 'list']], [['export']]])(
    'closing the pipe that %j writes to is no error',
    async (words) => {
      const { code, stderr } = await runAlone(words, '', true);
      expect(code).toBe(0);
      expect(stderr).not.toMatch(/EPIPE|\n {4}at /);
    },
  );

  test('a command whose output is not read does its work', async () => {
    const words = ['import', join(documents, 'bakery.yaml'), '--namespace', 'unread.example', '--name', 'Unread', '--verbose'];
    expect((await runAlone(words, '', true)).code).toBe(0);
    await succeed('services', 'delete', 'Unread', '--yes');
  });

  test('a full disk makes a command exit with 1', async () => {
    const { runScript } = await openCommandLine(folder);
    const stderr = expect.stringMatching(/(^|\n)The output could not be written: ENOSPC: .*\n$/);
    expect(await runScript('npx intent-gate --help > /dev/full')).toEqual({ code: 1, stdout: '', stderr });
  });

  test('blocking an unknown id says so, and needs --yes', async () => {
    const words = ['agents', 'block', 'nobody-like-this', '--reason', 'misspelt'];
    expect(await run(words)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'No agent with this id has a PAT yet. Nothing was changed. Check the id, or use --yes.\n',
    });
    expect(await succeedJson('agents', 'list', '--state', 'blocked')).toEqual([]);
    expect(await succeed(...words, '--yes')).toBe('Blocked nobody-like-this until you unblock it. No agent with this id has a PAT yet.\n');
    await succeed('agents', 'unblock', 'nobody-like-this');
  });

  test('"update" accepts the output of "show --json"', async () => {
    const uid = 'world.example:get-country:v1';
    for (const [noun, id] of [
      ['intents', uid],
      ['services', 'World facts'],
    ] as const) {
      const shown = await succeedJson(noun, 'show', id);
      const file = await writeTo(`${noun}.json`, { ...shown, description: `${shown.description} Edited.` });
      await succeed(noun, 'update', id, '--file', file);
      expect((await succeedJson(noun, 'show', id)).description).toBe(`${shown.description} Edited.`);
      if (noun === 'intents')
        expect(await run([noun, 'update', id, '--file', file])).toMatchObject({ code: 1, stderr: expect.stringContaining('/digest') });
      const { digest: _, ...definition } = shown;
      await writeFile(file, JSON.stringify(definition));
      await succeed(noun, 'update', id, '--file', file);
    }
  });

  test.each(['/console', '/console/services', '/docs', '/mcp', '/openapi.json?x#y'])('the address of the page %s is understood', (page) => {
    expect(chooseBaseUrl(stack.base_url + page)).toBe(stack.base_url);
  });

  test.each(['SIGINT', 'SIGKILL'] as const)(
    'an import stopped by %s leaves whole batches, and the same command makes the rest',
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
});

test('"try" keeps every digit', async () => {
  const asked: string[] = [];
  const { address, stop } = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('Content-Type', 'application/json').end('{"id":12345678901234567890,"price":1.10}');
  });
  try {
    const parameters = [{ name: 'amount', in: 'query', schema: { type: 'number' } }];
    const paths = { '/a': { get: { operationId: 'a', parameters, responses } } };
    const file = await writeTo('echo.json', documentOf('Echo', address, paths));
    const [uid] = (await succeedJson('import', file, '--namespace', 'echo.example')).create;
    const params = await writeTo('echo-params.yaml', 'amount: 2.50');
    const execute = async (...options: string[]) =>
      (await someone.run(['try', '--intent', uid, ...options, '--json', '--url', stack.base_url])).stdout;
    const answers = [await execute('-p', 'amount=1.10', '--accept-policy'), await execute('--params', params)];
    for (const answer of answers) expect(answer).toMatch(/"id": 12345678901234567890,\s+"price": 1\.10\s/);
    expect(asked).toEqual(['/a?amount=1.10', '/a?amount=2.50']);
  } finally {
    await stop();
  }
});

describe('try', () => {
  test('shows the header fields of an answer, and the reason of a refusal', async () => {
    const { address, stop } = await serve(({ url }, response) => {
      if (url === '/made') response.writeHead(201, { Location: '/made/7', 'X-Total-Count': '4' }).end();
      else response.writeHead(403, { 'Content-Type': 'text/html' }).end('<p>Project 7 is <b>archived</b></p>');
    });
    try {
      const headers = { 'X-Total-Count': { schema: { type: 'integer' } } };
      const make = { operationId: 'make', responses: { 201: { description: 'Made', headers } } };
      const file = await writeTo(
        'heads.json',
        documentOf('Heads', address, { '/made': { post: make }, '/archived': { post: { responses } } }),
      );
      await succeed('import', file, '--namespace', 'heads.example');
      const execute = (name: string, ...options: string[]) =>
        someone.run(['try', '--intent', `heads.example:${name}:v1`, '--accept-policy', '--url', stack.base_url, ...options]);
      expect((await execute('make')).stdout).toMatch(
        /Status and header fields of the service:\n.*"status": 201,.*"location": "\/made\/7"/s,
      );
      expect(JSON.parse((await execute('make', '--json')).stdout)).toMatchObject({
        answer: {},
        upstream: { status: 201, headers: { location: '/made/7', 'x-total-count': '4' } },
      });
      const { code, stderr } = await execute('post-archived');
      expect([code, stderr]).toEqual([1, expect.stringContaining('\nThe service said: Project 7 is archived\n')]);
    } finally {
      await stop();
    }
  });

  const words = [
    'try',
    '--intent',
    'world.example:convert-time:v1',
    '-p',
    'time=2027-03-28T09:30:00+02:00',
    '-p',
    'to_time_zone=Asia/Tokyo',
  ];

  test('does not sign a policy that was not accepted', async () => {
    const { code, stderr } = await run(words);
    expect(code).toBe(3);
    expect(stderr).toContain('  You may execute every intent, at most 60 times a minute.\n');
    expect(stderr).toContain('There is no terminal for a prompt. Use --accept-policy to accept the policy.\n');
  });

  test('signs only for the address that it was given, whatever the gate claims', async () => {
    const { code, stderr } = await run([...words, '--accept-policy', '--public-url', 'https://gate.example']);
    expect(code).toBe(3);
    expect(stderr).toBe(
      `The policy is not that of https://gate.example but of ${stack.base_url}, so nothing was signed. If you are sure that this is the right gate, pass that address as its public address. The option is --public-url.\n`,
    );
  });

  test('executes once the policy is accepted, and after a revocation signs again', async () => {
    const { stdout } = await run([...words, '--accept-policy', '--json']);
    expect(JSON.parse(stdout).answer).toMatchObject({ time: '2027-03-28T16:30:00+09:00' });
    const { agent_id: agentId } = JSON.parse(stdout);
    const kept = (await readdir(join(home, 'agent'))).map((name) => join(home, 'agent', name));
    expect(kept).toHaveLength(2);
    for (const file of kept) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await succeedJson('agents', 'show', String(agentId))).toMatchObject({ agent_id: agentId });
    await succeed('agents', 'revoke', String(agentId));
    expect(JSON.parse((await run([...words, '--json'])).stdout).answer).toMatchObject({ time_zone: 'Asia/Tokyo' });
  });
});

describe('without an address', () => {
  let sessions: string;
  /** command lines in a folder in which no stack runs: with the session, with nothing, and with the variable */
  let [signedIn, nobody, configured]: CommandLine[] = [];
  const runElsewhere = (words: string[], commandLine = signedIn) => (commandLine as CommandLine).run(words);

  beforeAll(async () => {
    const elsewhere = await mkdtemp(join(folder, 'elsewhere-'));
    [signedIn, nobody, configured] = await Promise.all(
      [{ INTENT_GATE_HOME: home }, {}, { INTENT_GATE_URL: stack.base_url }].map((environment) => openCommandLine(elsewhere, environment)),
    );
    sessions = await readFile(join(home, 'sessions.json'), 'utf8');
  });
  afterEach(() => writeFile(join(home, 'sessions.json'), sessions));

  test('the gate signed in to is the default when there is only one', async () => {
    const shown = await runElsewhere(['services', 'list', '--json']);
    expect(shown).toEqual({ code: 0, stderr: '', stdout: expect.stringContaining('"service_id"') });
  });

  test('with two gates there is no default, and both are named; nor is there one without a login', async () => {
    const other = 'https://gate.example';
    await writeFile(
      join(home, 'sessions.json'),
      JSON.stringify({ ...JSON.parse(sessions), [other]: { kind: 'local', stack_file: 'none' } }),
    );
    const advice = 'Give its address with --url or INTENT_GATE_URL, or start one with "npm start".\n';
    expect(await runElsewhere(['services', 'list'])).toEqual({
      code: 3,
      stdout: '',
      stderr: `No gate selected. You are signed in to ${stack.base_url} and ${other}. ${advice}`,
    });
    expect(await runElsewhere(['services', 'list'], nobody)).toEqual({ code: 3, stdout: '', stderr: `No gate selected. ${advice}` });
  });

  describe('or with one, the names in a policy are looked up in the selected gate', () => {
    const target = '{base_url}/api/intents';
    const policy = {
      permission: [{ target, action: 'execute' }],
      prohibition: [{ target: `${target}/world.example:get-countri:v1`, action: 'execute' }],
    };
    const problem = 'names the intent "world.example:get-countri:v1", which does not exist; the nearest is "world.example:get-country:v1"';
    const country = 'world.example:get-country:v1';
    const meant: [string, (words: string[]) => Promise<Outcome>][] = [
      ['of the stack here', (words) => run(words)],
      ['signed in to', (words) => runElsewhere(words)],
      ['of --url', (words) => runElsewhere(['--url', stack.base_url, ...words], nobody)],
      ['of INTENT_GATE_URL', (words) => runElsewhere(words, configured)],
    ];

    test.each(meant)('%s', async (_, ask) => {
      const file = await writeTo('misspelt.json', policy);
      const { code, stderr } = await ask(['policy', 'show', file]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('The policy refers to names that do not exist in the registry:')]);
      expect(stderr).toContain(problem);
      expect(stderr).not.toContain('were not checked');
      expect(await ask(['policy', 'explain', country, '--param', 'code=JP'])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Permitted by /),
        stderr: '',
      });
    });

    test('a gate that was named must answer; the default one need not', async () => {
      const file = fileURLToPath(new URL('../../../policy.json', import.meta.url));
      await writeFile(join(home, 'sessions.json'), JSON.stringify({ 'http://127.0.0.1:9': { kind: 'local', stack_file: 'none' } }));
      const unchecked = 'The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.\n';
      expect(await runElsewhere(['policy', 'show', file])).toMatchObject({ code: 0, stderr: unchecked });
      expect(await runElsewhere(['--url', 'http://127.0.0.1:9', 'policy', 'show', file])).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('Nothing answers at http://127.0.0.1:9.'),
      });
    });
  });
});

const oversized = await writeTo(
  'oversized.json',
  `{"openapi":"3.1.0","info":{"title":"Oversized","version":"1"},"paths":{},"x-list":[${'1,'.repeat(1_000_000)}1]}`,
);

describe('everything else', () => {
  test.each([
    ['an unknown command', ['nonsense'], 3, "error: unknown command 'nonsense'"],
    ['an unknown option', ['diff', 'x', '--nonsense'], 3, "error: unknown option '--nonsense'"],
    ['a missing file', ['diff', 'none.yaml'], 3, 'The file none.yaml does not exist.'],
    ...['lately', '5'].map((since): [string, string[], number, string] => [
      `the invalid time ${since}`,
      ['history', '--since', since],
      3,
      '--since takes a duration such as 30m, 12h, 7d or 4w, or a date such as 2027-03-01.',
    ]),
    [
      'a document that takes much memory',
      ['import', oversized],
      3,
      'The document is too large: reading more than 20 MB of JSON or 5 MB of YAML, or an extreme number of values, can take gigabytes of memory. Import it with the command line and --large.',
    ],
    [
      'a document that takes much memory, even if that is allowed, without operations',
      ['import', oversized, '--large', '--base-url', 'https://oversized.example'],
      1,
      'No operation in the document can be imported, so nothing was registered.',
    ],
    ['a concurrency of 0', ['diff', 'x', '--concurrency', '0'], 3, '--concurrency must be a whole number from 1 to 64.'],
    [
      'an invalid address',
      ['--url', 'nowhere', 'policy', 'show'],
      3,
      'The address of the gate must be an http or https URL, such as https://gate.example.',
    ],
    [
      'http to another machine',
      ['--url', 'http://gate.example', 'services', 'list'],
      3,
      'The address of the gate must begin with https://; tokens may be sent over http only to this machine.',
    ],
    [
      'a password over http',
      ['--url', 'https://gate.example', 'login', '--region', 'x', '--client-id', 'y', '--endpoint', 'http://pool.example'],
      3,
      '--endpoint must be an https address; plain http is allowed only for this machine.',
    ],
    [
      'silence',
      ['--url', 'http://127.0.0.1:9', 'policy', 'show'],
      5,
      'Nothing answers at http://127.0.0.1:9. Check the address, and whether the gate is running.',
    ],
    [
      'no login',
      ['--url', 'http://127.0.0.1:9', 'agents', 'show', 'x'],
      4,
      'You are not signed in to http://127.0.0.1:9. Sign in with: npx intent-gate login --url http://127.0.0.1:9',
    ],
  ])('%s has its exit code', async (_, words, code, message) => {
    const outcome = await run(words);
    expect(outcome).toMatchObject({ code, stdout: '' });
    expect(outcome.stderr.split('\n')[0]).toBe(message);
  });
});
