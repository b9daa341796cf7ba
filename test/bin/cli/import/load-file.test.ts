import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DocumentError } from '../../../../bin/cli/import/document.ts';
import { loadFile } from '../../../../bin/cli/import/load-file.ts';
import { planImport } from '../../../../bin/cli/import/plan-import.ts';

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
const plan = async (file: string) => planImport(await loadFile(join(folder, file)), options);

describe('a document in several files', () => {
  test('is read as one; notes name the file', async () => {
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

  test('may be Swagger 2.0', async () => {
    write({
      'swagger.yaml': `${head("swagger: '2.0'")}host: things.example\npaths: { /things: { $ref: things.yaml } }`,
      'things.yaml': 'post: { operationId: add, parameters: [{ $ref: "body.yaml#/add" }], responses: { 204: {} } }',
      'body.yaml': 'add: { name: body, in: body, schema: { properties: { a: { type: string, x-nullable: true } } } }',
    });
    const { intents } = await plan('swagger.yaml');
    expect(intents[0]?.input_parameters).toEqual([{ name: 'a', type: 'string' }]);
  });

  test('has no part outside the folder of the document, behind a link, or in the network', async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests++;
      response.end('get: { operationId: secret, responses: {} }');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const references = [
      '../secret.yaml',
      join(folder, 'secret.yaml'),
      `file://${folder}/secret.yaml`,
      'link.yaml',
      'linked/secret.yaml',
      'notes.txt',
      'nowhere.yaml',
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret.yaml`,
    ];
    const secret = 'get: { operationId: secret, responses: {} }';
    const paths = [...references, 'here.yaml'].map((reference, at) => `  /${at}: { $ref: '${reference}' }\n`);
    write({
      'secret.yaml': secret,
      'api/notes.txt': secret,
      'api/here.yaml': secret,
      'api/openapi.yaml': `${openApi}paths:\n${paths.join('')}`,
    });
    symlinkSync('../secret.yaml', join(folder, 'api/link.yaml'));
    symlinkSync('..', join(folder, 'api/linked'));
    try {
      const { intents, skipped } = await plan('api/openapi.yaml');
      expect(intents).toHaveLength(1);
      expect(skipped).toEqual(
        references.map((_, at) => ({
          operation: `/${at}`,
          path: `/paths/~1${at}`,
          reason: 'cannot be read: the reference leads to another document, which is not fetched; bundle the documents into one first',
        })),
      );
      expect(requests).toBe(0);
    } finally {
      server.close();
    }
  });

  test("has no part outside the folder by a schema's $id either", async () => {
    const schema = (id: string) => `{ type: object, $id: '${id}', properties: { a: { $ref: ../secret.yaml#/maximum } } }`;
    const path =
      '{ post: { operationId: act, requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/A" } } } } } }';
    const ids = ['deep/x.json', `${folder}/api/deep/x.json`, 'https://things.example/deep/x.json', 'file:///api/deep/x.json'];
    for (const id of ids) {
      write({
        'secret.yaml': 'maximum: { type: string, maxLength: 7 }',
        'api/here.yaml': 'here: { type: integer }',
        'api/openapi.yaml': `${openApi}paths: { /a: ${path} }\ncomponents: { schemas: { A: ${schema(id)}, B: { $ref: here.yaml#/here } } }`,
      });
      const { intents } = await plan('api/openapi.yaml');
      expect(intents[0]?.input_parameters).toEqual([{ name: 'a', type: 'any' }]);
    }
  });

  test('names the part that cannot be read', async () => {
    write({ 'openapi.yaml': `${openApi}paths: { /a: { $ref: parts/a.yaml } }`, 'parts/a.yaml': 'get: [' });
    const loading = loadFile(join(folder, 'openapi.yaml'));
    await expect(loading).rejects.toThrow(DocumentError);
    await expect(loading).rejects.toThrow(/^parts\/a\.yaml: The document is neither JSON nor YAML: .* at line 1/);
  });
});
