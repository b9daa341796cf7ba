import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { awsEnvironment } from '../../../bin/local/functions.ts';
import { close, listen } from '../../../bin/local/http.ts';
import { makeFolder } from '../../support/folder.ts';

const home = makeFolder();

const program = `
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
await new DynamoDBClient({ maxAttempts: 1 }).send(new ListTablesCommand({}));`;

test.each([
  ['ignores endpoints of the environment', 'ignore_configured_endpoint_urls = true'],
  ['asks for FIPS endpoints', 'use_fips_endpoint = true'],
  ['names another endpoint', 'endpoint_url = http://127.0.0.1:9'],
  ['is not valid', '[['],
])("functions of a local stack call its stand-ins even if the developer's AWS configuration %s", async (_, line) => {
  const paths: unknown[] = [];
  const server = createServer((request, response) => {
    paths.push(request.headers['x-amz-target']);
    response.end('{"TableNames":[]}');
  });

  mkdirSync(join(home, '.aws'), { recursive: true });
  writeFileSync(join(home, '.aws', 'config'), `[default]\n${line}\n`);
  try {
    const DYNAMODB = `http://127.0.0.1:${await listen(server)}`;
    const env = { ...awsEnvironment({ DYNAMODB }), HOME: home, USERPROFILE: home };
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    expect([await once(child, 'exit'), paths]).toEqual([[0, null], ['DynamoDB_20120810.ListTables']]);
  } finally {
    await close(server);
  }
});
