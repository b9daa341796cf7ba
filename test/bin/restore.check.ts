import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { localCredentials } from '../../bin/local/functions.ts';
import { region } from '../../bin/local/json-service.ts';
import { variables } from '../../functions/core/runtime/environment.ts';
import { readRegistry } from '../../registry/files.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { startApi } from '../e2e/api.ts';
import { copyTable, createTable } from '../support/copy-table.ts';
import { makeFolder } from '../support/folder.ts';
import { type Outcome, openSignedIn } from './cli/command-line.ts';

const { stack } = await startApi();
const client = new DynamoDBClient({ endpoint: stack.dynamodb_endpoint, region, credentials: localCredentials() });
const { [variables.registryTable]: registryTable = '', [variables.activityTable]: activityTable = '' } =
  stack.definitionOf('execute-intent').environment;
const beforeTheLog = fileURLToPath(new URL('../registry/exports/before-the-log.yaml', import.meta.url));
const folder = makeFolder();
const { run, succeed, succeedJson } = await openSignedIn(folder, stack);
afterAll(() => client.destroy());

const names = ['Lighthouse "Großer Vogelsand"', 'Tide tables'];
const exported = () => succeed('export', ...names.flatMap((name) => ['--service', name]));

function restore(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const { accessKeyId, secretAccessKey } = localCredentials();
  const env = {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb_endpoint,
    ...environment,
  };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['bin/run.js', 'bin/restore.ts', ...words], { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

test('an export from a gate without a log is applied unchanged, down to the digest of each intent', async () => {
  await succeed('apply', beforeTheLog);
  expect(await exported()).toBe(await readFile(beforeTheLog, 'utf8'));
  const intents = (await readRegistry(beforeTheLog)).flatMap((service) => service.intents);
  expect(intents).toHaveLength(5);
  for (const intent of intents) {
    const { digest } = await succeedJson('intents', 'show', intent.intent_uid);
    expect([intent.intent_uid, digest]).toEqual([intent.intent_uid, digestIntent(intent)]);
  }
  expect((await run(['diff', beforeTheLog])).code).toBe(0);
  expect(await succeed('apply', beforeTheLog)).toBe(names.map((name) => `${name}: 0 created, 0 changed, 0 removed\n`).join(''));
}, 60_000);

describe('a copy of the table', () => {
  const uid = 'tides.example:get-tide:v1';
  let before: string;

  beforeAll(async () => {
    await succeed('apply', beforeTheLog);
    before = await exported();
    const [service, other] = await readRegistry(beforeTheLog);
    const intents = Array.from({ length: 104 }, (_, at) => ({
      ...other?.intents[0],
      intent_uid: `many.example:number-${at}:v1`,
      ...(at % 4 === 0 && { draft: true }),
    }));
    const many = { ...other?.service, service_name: 'Many', limit: service?.service.limit, intents };
    await writeFile(join(folder, 'many.json'), JSON.stringify({ registry: 1, services: [many] }));
    await succeed('apply', join(folder, 'many.json'));
    await copyTable(client, registryTable, 'restored');
  }, 60_000);

  test('a copy of the table yields the same file as an export at that time', async () => {
    const everything = await restore(['--from', 'restored', '--all']);
    expect(everything).toEqual({ code: 0, stdout: await succeed('export'), stderr: '' });
    expect((await restore(['--from', 'restored', '--service', names[1] ?? ''])).stdout).toBe(
      await succeed('export', '--service', names[1] ?? ''),
    );
    const file = join(folder, 'all.json');
    expect(await restore(['--from', 'restored', '--all', '-o', file])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(file, 'utf8')).toBe(await succeed('export', '--json'));
  }, 60_000);

  test('a copy of the table yields a deleted intent, without the others of its service', async () => {
    await succeed('intents', 'delete', uid, '--yes');
    const file = join(folder, 'intent.yaml');
    expect((await restore(['--from', 'restored', '--intent', uid, '-o', file])).code).toBe(0);
    expect((await readRegistry(file)).map(({ intents }) => intents.map(({ intent_uid }) => intent_uid))).toEqual([[uid]]);
    expect(await succeed('apply', file)).toContain('Tide tables: 1 created, 0 changed, 0 removed\n');
    expect(await exported()).toBe(before);
  }, 60_000);

  test('a copy of the table yields a deleted service, which apply registers with another id, and one that was changed since', async () => {
    const { service_id: serviceId } = await succeedJson('intents', 'show', uid);
    await succeed('services', 'delete', serviceId, '--yes');
    await succeed('intents', 'delete', 'lighthouse.example:get-light:v2', '--yes');
    await succeed('services', 'update', names[0] ?? '', '--name', 'Renamed');
    const file = join(folder, 'all.yaml');
    expect((await restore(['--from', 'restored', '--all', '-o', file])).code).toBe(0);
    const [created, renamed] = (await succeedJson('apply', file))
      .filter(({ service_name }: { service_name: string }) => names.includes(service_name))
      .reverse();
    expect(created.applied).toMatchObject({ created: 2, updated: 0, failed: [] });
    expect(created.applied.service_id).not.toBe(serviceId);
    expect(renamed.applied).toMatchObject({ created: 1, service_changed: ['service_name'], failed: [] });
    expect(await exported()).toBe(before);
    expect(await succeed('intents', 'list', 'height', 'of', 'the', 'tide', '--namespace', 'tides.example')).toContain(uid);
  }, 60_000);

  test.each<{ what: string; words: string[]; code: number; message: string; environment?: NodeJS.ProcessEnv }>([
    {
      what: 'nothing chosen',
      words: ['--from', 'restored'],
      code: 3,
      message: 'Nothing to restore. Give --intent <uid>, --service <id> or --all.\n',
    },
    {
      what: 'two choices',
      words: ['--from', 'restored', '--all', '--service', 'x'],
      code: 3,
      message: "error: option '--service <id>' cannot be used with option '--all'",
    },
    {
      what: 'no such intent',
      words: ['--from', 'restored', '--intent', 'a.example:b:v1'],
      code: 1,
      message: 'The copy contains no intent a.example:b:v1.\n',
    },
    {
      what: 'no such service',
      words: ['--from', 'restored', '--service', 'None'],
      code: 1,
      message: 'The copy contains no service with the id or name None.\n',
    },
    {
      what: 'no such table',
      words: ['--from', 'none', '--all'],
      code: 3,
      message:
        'The table none does not exist in this account and region, or is still being restored. Wait with: aws dynamodb wait table-exists --table-name none\n',
    },
    {
      what: 'the other table',
      words: ['--from', activityTable, '--all'],
      code: 3,
      message: `The table ${activityTable} contains no registry of this version.`,
    },
    { what: 'a foreign table', words: ['--from', 'foreign', '--all'], code: 4, message: 'AWS refused the request (ValidationException): ' },
    {
      what: 'no address',
      words: ['--from', 'restored', '--all'],
      code: 5,
      message: 'DynamoDB is not responding (',
      environment: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1' },
    },
    {
      what: 'no region',
      words: ['--from', 'restored', '--all'],
      code: 4,
      message: 'AWS refused the request (',
      environment: { AWS_REGION: undefined },
    },
  ])(
    'a restore from a copy of the table is refused: $what',
    async ({ words, code, message, environment = {} }) => {
      if (words.includes('foreign')) await createTable(client, 'foreign', ['id', 'at']);
      const outcome = await restore(words, environment);
      expect(outcome).toMatchObject({ code, stdout: '' });
      expect(outcome.stderr.slice(0, message.length)).toBe(message);
    },
    60_000,
  );
});
