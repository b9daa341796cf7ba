import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import { DocumentError } from '../../../registry/import/document.ts';
import { loadAddress, loadFile } from '../../../registry/import/load-document.ts';
import { unread } from '../../../registry/import/node.ts';
import { planImport } from '../../../registry/import/plan-import.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'import-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

const head = (version: string) => `${version}\ninfo: { title: Things, version: '1' }\n`;
const openApi = `${head('openapi: 3.0.3')}servers: [{ url: 'https://things.example' }]\n`;
const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };
/** Loads the document of a folder, or a file together with the folder of its parts. */
const load = (file: string, parts?: string) => loadFile(join(folder, file), parts === undefined ? undefined : join(folder, parts));
const plan = async (file: string, parts = dirname(file)) => planImport((await load(file, parts)).document, options);

describe('a document in several files', () => {
  test('a document in several files is read as one; notes name the file', async () => {
    write({
      'api/openapi.yaml': `${openApi}paths: { /things: { $ref: paths/things.yaml } }\ncomponents: { schemas: { Size: { type: integer, minimum: 1 } } }`,
      'api/paths/things.yaml': [
        'get:',
        '  operationId: find things',
        '  parameters: [{ $ref: ../parameters.json#/size }, { $ref: "#/color" }]',
        '  responses: { 200: { content: { application/json: { schema: { $ref: "../schemas/thing.yaml" } } } } }',
        'color: { name: color, in: query, schema: { type: string, pattern: "(" } }',
      ].join('\n'),
      'api/parameters.json': '{"size":{"name":"size","in":"query","schema":{"$ref":"openapi.yaml#/components/schemas/Size"}}}',
      'api/schemas/thing.yaml':
        'properties: { parts: { type: array, items: { $ref: thing.yaml } }, note: { type: string, nullable: true } }',
    });
    expect(await plan('api/openapi.yaml')).toMatchObject({
      intents: [
        {
          intent_uid: 'things.example:find-things:v1',
          input_parameters: [
            { name: 'size', type: 'integer', minimum: 1 },
            { name: 'color', type: 'string' },
          ],
          output_parameters: [
            { name: 'parts', type: 'array' },
            { name: 'note', type: 'string' },
          ],
        },
      ],
      skipped: [],
      notes: [{ path: 'paths/things.yaml#/color/schema', note: expect.stringMatching(/^pattern was left out/) }],
    });
  });

  test('a document in several files may have maps in files of their own', async () => {
    write({
      'openapi.yaml': `${openApi}paths: { $ref: 'paths/index.yaml' }\ncomponents: { schemas: { $ref: 'schemas/index.yaml' } }\n`,
      'paths/index.yaml': [
        '/pets:',
        '  post:',
        '    operationId: add',
        "    requestBody: { content: { application/json: { schema: { $ref: '../openapi.yaml#/components/schemas/Pet' } } } }",
        '    responses: { 204: { description: Done } }',
      ].join('\n'),
      'schemas/index.yaml': "Pet: { type: object, properties: { $ref: 'properties.yaml' } }",
      'schemas/properties.yaml': 'name: { type: string }',
    });
    const { intents, notes, skipped } = await plan('openapi.yaml');
    expect([intents.map(({ input_parameters }) => input_parameters), notes, skipped]).toEqual([
      [[{ name: 'name', type: 'string' }]],
      [],
      [],
    ]);
  });

  test('a document in several files may have maps of any names in files of their own', async () => {
    write({
      'openapi.yaml': `${openApi}paths: { $ref: 'paths.yaml', /other: { get: { operationId: other, responses: {} } } }\n`,
      'paths.yaml': [
        '/pets:',
        '  post:',
        '    operationId: add',
        "    requestBody: { content: { application/json: { schema: { type: object, properties: { $ref: 'properties.yaml' } } } } }",
        "    responses: { $ref: 'responses.yaml' }",
      ].join('\n'),
      'responses.yaml': "default: { $ref: 'done.yaml' }",
      'done.yaml': 'description: Done',
      'properties.yaml': ['description', 'tags', 'x-rate'].map((name) => `${name}: { $ref: 'text.yaml' }`).join('\n'),
      'text.yaml': 'type: string',
    });
    const { intents, notes, skipped } = await plan('openapi.yaml');
    const inputs = ['description', 'tags', 'x-rate'].map((name) => ({ name, type: 'string' }));
    expect([intents.map(({ input_parameters }) => input_parameters), notes, skipped]).toEqual([[inputs, []], [], []]);
  });

  test('a document in several files says what it has lost with a map that cannot be read', async () => {
    const body = (content: string) => `requestBody: { content: ${content} }, responses: {}`;
    const paths = [
      `/a: { post: { operationId: a, ${body("{ $ref: 'gone.yaml' }")} } }`,
      `/b: { post: { operationId: b, ${body("{ application/json: { schema: { type: object, properties: { $ref: 'gone.yaml' } } } }")} } }`,
      "/c: { post: { operationId: c, responses: { $ref: 'gone.yaml' } } }",
    ];
    write({ 'openapi.yaml': `${openApi}paths:\n${paths.map((path) => `  ${path}\n`).join('')}` });
    const { intents, notes, skipped } = await plan('openapi.yaml');
    expect(intents.map(({ intent_uid }) => intent_uid)).toEqual([expect.stringMatching(/:b:/)]);
    expect(notes).toEqual([
      {
        path: '/paths/~1b/post/requestBody/content/application~1json/schema/properties',
        note: `the reference ${unread}; what it describes was left out`,
      },
    ]);
    expect(skipped.map(({ operation }) => operation)).toEqual(['POST /a', 'POST /c']);
  });

  test('a document whose paths cannot be read says why', async () => {
    write({ 'openapi.yaml': `${openApi}paths: { $ref: 'gone.yaml' }` });
    expect(await plan('openapi.yaml')).toMatchObject({
      intents: [],
      skipped: [{ operation: 'paths', path: '/paths', reason: `cannot be read: the reference ${unread}` }],
    });
  });

  test('a document in several files may be Swagger 2.0', async () => {
    write({
      'swagger.yaml': `${head("swagger: '2.0'")}host: things.example\npaths: { /things: { $ref: things.yaml } }`,
      'things.yaml': 'post: { operationId: add, parameters: [{ $ref: "body.yaml#/add" }], responses: { 204: {} } }',
      'body.yaml': 'add: { name: body, in: body, schema: { properties: { a: { type: string, x-nullable: true } } } }',
    });
    const { intents } = await plan('swagger.yaml');
    expect(intents[0]?.input_parameters).toEqual([{ name: 'a', type: 'string', schema: { type: ['string', 'null'] } }]);
  });

  test('a document in several files may have references that are percent-encoded, or look like it', async () => {
    const act = (name: string) => `get: { operationId: ${name}, responses: {} }`;
    const names = ['{id}.yaml', '100%.yaml', '%41.yaml'];
    const references = ['%7Bid%7D.yaml', '100%.yaml', '%41.yaml'];
    write(Object.fromEntries(names.map((name, at) => [`api/parts/${name}`, act(`act${at}`)])));
    write({ 'api/openapi.yaml': `${openApi}paths:\n${references.map((name, at) => `  /${at}: { $ref: 'parts/${name}' }\n`).join('')}` });
    const { intents } = await plan('api/openapi.yaml');
    expect(intents.map(({ intent_uid }) => intent_uid)).toEqual([0, 1, 2].map((at) => `things.example:act${at}:v1`));
  });

  test('a document in several files has no part outside the folder of the document, behind a link, or in the network', async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests++;
      response.end('get: { operationId: secret, responses: {} }');
    });
    const port = await listen(server);
    const references = [
      '../secret.yaml',
      '%2e%2e/secret.yaml',
      '.%2fx.config%2f%2ehidden.yaml',
      join(folder, 'secret.yaml'),
      `file://${folder}/secret.yaml`,
      'link.yaml',
      'linked/secret.yaml',
      'notes.txt',
      'nowhere.yaml',
      './.config/x.yml#/a',
      'x.config/.hidden.yaml',
      'link-to-hidden.yaml',
      `http://127.0.0.1:${port}/secret.yaml`,
    ];
    const secret = 'get: { operationId: secret, responses: {} }';
    const paths = [...references, 'here.yaml'].map((reference, at) => `  /${at}: { $ref: '${reference}' }\n`);
    write({
      'secret.yaml': secret,
      'api/notes.txt': secret,
      'api/here.yaml': secret,
      'api/.config/x.yml': `a: ${secret}`,
      'api/x.config/.hidden.yaml': secret,
      'api/openapi.yaml': `${openApi}paths:\n${paths.join('')}`,
    });
    symlinkSync('../secret.yaml', join(folder, 'api/link.yaml'));
    symlinkSync('..', join(folder, 'api/linked'));
    symlinkSync('.config/x.yml', join(folder, 'api/link-to-hidden.yaml'));
    try {
      const { intents, skipped } = await plan('api/openapi.yaml');
      expect(intents).toHaveLength(1);
      expect(skipped).toEqual(
        references.map((_, at) => ({
          operation: `/${at}`,
          path: `/paths/~1${at}`,
          reason: `cannot be read: the reference ${unread}`,
        })),
      );
      expect(requests).toBe(0);
    } finally {
      await close(server);
    }
  });

  test('a document in several files has parts only if the folder is given, and says which references it has not followed', async () => {
    write({ 'openapi.yaml': `${openApi}paths: { /a: { $ref: ./a.yaml } }`, 'a.yaml': 'get: { operationId: act, responses: {} }' });
    const { document, files, left } = await load('openapi.yaml');
    expect([files, left]).toEqual([['openapi.yaml'], ['./a.yaml']]);
    expect(planImport(document, options)).toMatchObject({ intents: [], skipped: [{ reason: `cannot be read: the reference ${unread}` }] });
    for (const loaded of [await load('openapi.yaml', '.'), await load('.')]) {
      expect([loaded.files, loaded.left]).toEqual([['openapi.yaml', 'a.yaml'], []]);
      expect(planImport(loaded.document, options).intents).toHaveLength(1);
    }
  });

  test('a document in several files lists every file that was read, and reads none that only prose or unused parts name', async () => {
    const unused = '{ description: { $ref: prose.yaml }, example: { $ref: example.yaml }, x-a: { $ref: extension.yaml } }';
    write({
      'openapi.yaml': `${openApi}paths: { /a: { get: { operationId: act, summary: { $ref: prose.yaml }, parameters: [{ name: a, in: query, schema: { $ref: schemas.yaml#/A } }], responses: {} } } }\nx-b: ${unused}`,
      'schemas.yaml': `A: { type: string, allOf: [{ $ref: one.yaml }], description: { $ref: 'prose.yaml#/a' } }\nB: { $ref: other.yaml }`,
      'one.yaml': 'maxLength: 7',
      ...Object.fromEntries(['prose', 'example', 'extension', 'other'].map((name) => [`${name}.yaml`, 'a: secret'])),
    });
    const { document, files, notes } = await load('.');
    expect(files).toEqual(['openapi.yaml', 'schemas.yaml', 'one.yaml']);
    expect(planImport(document, options).intents[0]?.input_parameters).toEqual([{ name: 'a', type: 'string', maxLength: 7 }]);
    expect(notes).toEqual([
      { path: '/paths/~1a/get/summary', note: 'the summary was left out: it must be a string, not a reference' },
      { path: 'schemas.yaml#/A/description', note: 'the description was left out: it must be a string, not a reference' },
    ]);
  });

  test('a document in several files takes no text, list or number of another file, and follows no circle', async () => {
    const references = ['s.yaml#/text', 's.yaml#/list', 's.yaml#/number', '#/a', 's.yaml#/loop', '#/components/schemas/Self/Self'];
    const schemas = references.map((reference, at) => `S${at}: { $ref: '${reference}' }`).join(', ');
    const parameters = references.map((_, at) => `{ name: s${at}, in: query, schema: { $ref: '#/components/schemas/S${at}' } }`).join(', ');
    write({
      'openapi.yaml': `${openApi}paths: { /a: { get: { operationId: act, parameters: [${parameters}], responses: {} } } }\na: { $ref: '#/a' }\ncomponents: { schemas: { ${schemas}, Self: { $ref: '#/components/schemas/Self/Self' } } }`,
      's.yaml': 'text: secret\nlist: [secret]\nnumber: 4711\nloop: { $ref: "s.yaml#/loop" }',
    });
    const { intents, notes } = await plan('.');
    expect(intents[0]?.input_parameters).toEqual(references.map((_, at) => ({ name: `s${at}`, type: 'any' })));
    expect(JSON.stringify(intents)).not.toMatch(/secret|4711/);
    expect([...new Set(notes.map(({ note }) => note))].sort()).toEqual([
      'the reference does not exist in this document; anything is allowed in its place',
      'the reference points back to itself; anything is allowed in its place',
      'the reference points to a single value or a list, but only objects can be referred to; anything is allowed in its place',
    ]);
  });

  test('the document is the one that the folder holds, if it is the only one there', async () => {
    write({ 'a.yaml': `${openApi}paths: {}`, 'deep/b.yaml': `${openApi}paths: {}`, '.git/openapi.yaml': openApi, 'package.json': '{}' });
    expect((await load('.')).files).toEqual(['a.yaml']);
    write({ 'c.yaml': `${openApi}paths: {}` });
    await expect(load('.')).rejects.toThrow(/holds several documents \(a\.yaml, c\.yaml\)\. Give one of them, and the folder with --with /);
    write({ 'openapi.yaml': `${openApi}paths: {}` });
    expect((await load('.')).files).toEqual(['openapi.yaml']);
    await expect(load('.git')).resolves.toMatchObject({ files: ['openapi.yaml'] });
    await expect(load('openapi.yaml', 'nowhere')).rejects.toThrow(/^The folder .*nowhere does not exist\.$/);
  });

  test.each([
    ['cut', 'get: [', /^the file was not read: The document is neither JSON nor YAML: .* at line 1/],
    ['empty', '', /^the file was not read: The document is empty\.$/],
    ['too deep', `a: ${'['.repeat(20_000)}`, /^the file was not read: The YAML document is nested too deeply to be read\.$/],
  ])('a document in several files has a part that is %s: only what refers to it is skipped', async (_, content, note) => {
    write({
      'openapi.yaml': `${openApi}paths: { /a: { $ref: parts/a.yaml }, /b: { get: { $ref: parts/a.yaml#/get }, put: { $ref: parts/b.yaml#/put } } }`,
      'parts/b.yaml': 'put: { operationId: put b, responses: {} }',
    });
    writeFileSync(join(folder, 'parts/a.yaml'), content);
    const { document, notes } = await load('.');
    expect(notes).toEqual([{ path: 'parts/a.yaml', note: expect.stringMatching(note) }]);
    const { intents, skipped } = planImport(document, options);
    expect(intents.map(({ intent_uid }) => intent_uid)).toEqual(['things.example:put-b:v1']);
    expect(skipped).toEqual([
      { operation: '/a', path: '/paths/~1a', reason: 'cannot be read: the reference points to parts/a.yaml, which was not read' },
      { operation: 'GET /b', path: '/paths/~1b/get', reason: 'cannot be read: the reference points to parts/a.yaml, which was not read' },
    ]);
  });
});

describe('a document of extraordinary size', () => {
  const json = (members: string) => `{"openapi":"3.0.3","info":{"title":"Things","version":"1"},"paths":{},${members}}`;
  const text = (size: number) => 'x'.repeat(size);
  const yaml = `${openApi}paths: {}\n`;
  const part = (size: number) => `get: { responses: { 200: { description: ${text(size)} } } }\n`;
  const message =
    'The document is too large: reading more than 20 MB of JSON or 5 MB of YAML, or an extreme number of values, can take gigabytes of memory. Import it with the command line and --large.';

  test.each<[title: string, file: string, files: Record<string, string>]>([
    ['JSON of more than 20 MB', 'a.json', { 'a.json': json(`"x-text":"${text(20_000_000)}"`) }],
    ['JSON of more than a million values in a list', 'a.json', { 'a.json': json(`"x-list":[${'1,'.repeat(1_000_000)}1]`) }],
    ['JSON of more than a million members', 'a.json', { 'a.json': json(`"x-map":{${'"a":1,'.repeat(1_000_000)}"b":1}`) }],
    ['JSON of more than a million lists', 'a.json', { 'a.json': json(`"x-list":[${'[],'.repeat(500_000)}1]`) }],
    ['YAML of more than 5 MB', 'a.yaml', { 'a.yaml': `${yaml}x-text: ${text(5_000_000)}` }],
    ['YAML of too many items', 'a.yaml', { 'a.yaml': `${yaml}x-list:\n${'- 1\n'.repeat(300_000)}` }],
    ['YAML of too many items in brackets', 'a.yaml', { 'a.yaml': `${yaml}x-list: [${'1,'.repeat(400_000)}]` }],
    ['YAML of too many keys', 'a.yaml', { 'a.yaml': `${yaml}x-map:\n${'  a: 1\n'.repeat(200_000)}` }],
    ['YAML of too many nested brackets', 'a.yaml', { 'a.yaml': `${yaml}x-list: ${'['.repeat(800_000)}` }],
    [
      'parts that have more than 5 MB together',
      'openapi.yaml',
      {
        'openapi.yaml': `${openApi}paths: { /a: { $ref: a.yaml }, /b: { $ref: b.yaml } }`,
        ...{ 'a.yaml': part(2_600_000), 'b.yaml': part(2_600_000) },
      },
    ],
    ['a folder whose only large file could be the document', '.', { 'a.yaml': `${yaml}x-text: ${text(5_000_000)}`, 'b.yaml': 'a: 1' }],
  ])('%s is refused, because it may take more than 500 MB', async (_, file, files) => {
    write(files);
    await expect(load(file, file === '.' ? undefined : '.')).rejects.toThrow(new DocumentError(message));
  });

  test.each<[title: string, content: string]>([
    ['JSON of nearly 20 MB', json(`"x-text":"${text(19_900_000)}"`)],
    ['JSON of nearly a million values', json(`"x-list":[${'1,'.repeat(990_000)}1]`)],
    ['YAML of nearly 5 MB', `${yaml}x-text: ${text(4_900_000)}`],
    ['YAML of nearly as many keys as allowed', `${yaml}x-map:\n${Array.from({ length: 140_000 }, (_, at) => `  a${at}: 1\n`).join('')}`],
  ])('%s is read', async (title, content) => {
    const name = title.startsWith('JSON') ? 'a.json' : 'a.yaml';
    write({ [name]: content });
    expect((await load(name)).document).toMatchObject({ openapi: '3.0.3' });
  });

  test.each([
    ['more than 20 MB of JSON', 'a.json', json(`"x-text":"${text(20_000_000)}"`)],
    ['more than a million values', 'a.json', json(`"x-list":[${'1,'.repeat(1_000_000)}1]`)],
    ['more than 5 MB of YAML', 'a.yaml', `${yaml}x-text: ${text(5_000_000)}`],
  ])('%s can be read on demand', async (_, name, content) => {
    write({ [name]: content });
    expect((await loadFile(join(folder, name), undefined, true)).document).toMatchObject({ openapi: '3.0.3' });
  });
});

describe('a document at an address', () => {
  const rules = { ports: [443], allowLoopback: true, ownHosts: [] };

  async function serve(files: Record<string, string>) {
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      const content = files[url];
      if (url === '/moved') response.writeHead(302, { Location: '/specs/openapi.yaml' }).end();
      else response.writeHead(content === undefined ? 404 : 200).end(content);
    });
    return { asked, base: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
  }

  test('a document at an address is read with the files below its address, and no others', async () => {
    const files = {
      '/specs/openapi.yaml': `${openApi}paths: { /a: { $ref: paths/a.yaml }, /b: { $ref: ../secret.yaml }, /c: { $ref: nowhere.yaml }, /d: { $ref: '%2e%2e/secret.yaml' }, /e: { $ref: '..%2fsecret.yaml' }, /f: { $ref: 'http://localhost:1/secret.yaml' }, /g: { $ref: notes.txt } }`,
      '/specs/paths/a.yaml': 'get: { operationId: get a, parameters: [{ $ref: "../parts/size.json#/size" }], responses: {} }',
      '/specs/parts/size.json': '{"size":{"name":"size","in":"query","schema":{"type":"integer"}}}',
      '/secret.yaml': 'get: { operationId: secret, responses: {} }',
    };
    const { asked, base, stop } = await serve(files);
    try {
      const { document, notes } = await loadAddress(`${base}/specs/openapi.yaml`, rules, `${base}/specs/`);
      const { intents, skipped } = planImport(document, options);
      expect(intents.map(({ intent_uid, input_parameters }) => [intent_uid, input_parameters])).toEqual([
        ['things.example:get-a:v1', [{ name: 'size', type: 'integer' }]],
      ]);
      expect(notes).toEqual([{ path: 'nowhere.yaml', note: 'the file was not read: The address answered with status 404.' }]);
      const reasonOf = (at: string) =>
        at === '/c'
          ? 'cannot be read: the reference points to nowhere.yaml, which was not read'
          : `cannot be read: the reference ${unread}`;
      expect(skipped).toEqual(
        ['/b', '/c', '/d', '/e', '/f', '/g'].map((at) => ({ operation: at, path: `/paths/~1${at.slice(1)}`, reason: reasonOf(at) })),
      );
      await expect(loadAddress(`${base}/moved`, rules)).rejects.toThrow(
        'The address answered with status 302. It redirects to /specs/openapi.yaml; give that address if you trust it.',
      );
      const alone = await loadAddress(`${base}/specs/openapi.yaml`, rules);
      expect([alone.files, alone.left.length]).toEqual([[`${base}/specs/openapi.yaml`], 7]);
      expect([...new Set(asked)].sort()).toEqual([
        '/moved',
        '/specs/nowhere.yaml',
        '/specs/openapi.yaml',
        '/specs/parts/size.json',
        '/specs/paths/a.yaml',
      ]);
    } finally {
      await stop();
    }
  });

  test('a document at an address is not fetched from this machine unless that is allowed', async () => {
    const { asked, base, stop } = await serve({});
    try {
      const loading = loadAddress(`${base}/openapi.yaml`, { ...rules, allowLoopback: false });
      await expect(loading).rejects.toThrow('The address of the document must begin with https://.');
      expect(asked).toEqual([]);
    } finally {
      await stop();
    }
  });
});

test.each([
  ['Latin-1', Buffer.from(`${openApi}paths: {} # Café`, 'latin1')],
  ['UTF-16', Buffer.from(`\ufeff${openApi}paths: {}`, 'utf16le')],
])('a document in %s is refused', async (_, content) => {
  writeFileSync(join(folder, 'openapi.yaml'), content);
  const loading = loadFile(join(folder, 'openapi.yaml'));
  await expect(loading).rejects.toThrow(DocumentError);
  await expect(loading).rejects.toThrow(/^The document is not in UTF-8\. Convert it first, /);
});
