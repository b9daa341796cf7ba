import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import { makeFolder } from '../../support/folder.ts';
import { openCommandLine } from '../cli/command-line.ts';

const run = promisify(execFile);
const folder = makeFolder();

const usage = 'npm run deploy -- [<stage>] [options of cdk deploy]    for example: npm run deploy -- test\n';

test.each([
  [['Test'], 'Test is not the name of a stage.'],
  [['-c', 'stage=test'], 'The stage is the first word.'],
  [['test', '--context=stage=other'], 'The stage is the first word.'],
  [['test', '-O', 'x.json'], 'The outputs go to cdk-outputs.test.json.'],
])('npm run deploy refuses %j', async (words, mistake) => {
  await expect(run(process.execPath, [resolve('bin/run.js'), resolve('bin/deploy.ts'), ...words])).rejects.toMatchObject({
    code: 3,
    stderr: `${mistake}\n${usage}`,
  });
});

test.each([['--help'], ['test', '-h']])('npm run deploy %s prints its usage, and examines nothing', async (...words) => {
  const { stdout } = await run(process.execPath, [resolve('bin/run.js'), resolve('bin/deploy.ts'), ...words]);
  expect(stdout).toBe(usage);
});

test('npm run deploy examines the account first, and deploys nothing that would fail', async () => {
  const asked: string[] = [];
  const account = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://account');
    asked.push(searchParams.get('Action') ?? pathname);
    if (searchParams.has('Action')) return response.writeHead(400).end('<Message>Stack with id IntentGate-test does not exist</Message>');
    // of keys that an earlier stack left
    if (request.headers['x-amz-target'] === 'TrentService.DescribeKey')
      return response.writeHead(400).end('{"__type":"NotFoundException"}');
    if (pathname === '/account') return response.end('{}');
    if (pathname.includes('account-settings')) return response.end('{"AccountLimit":{"UnreservedConcurrentExecutions":10}}');
    return response.end(
      '<ListAllMyBucketsResult><Buckets><Bucket><Name>cdk-hnb659fds-assets-1-eu-west-1</Name></Bucket></Buckets></ListAllMyBucketsResult>',
    );
  });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    AWS_ENDPOINT_URL: `http://127.0.0.1:${await listen(account)}`,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  };
  const words = ['test', '--context=reservedConcurrency={"mcp":5}', '--require-approval', 'never'];
  try {
    await expect(run(process.execPath, [resolve('bin/run.js'), resolve('bin/deploy.ts'), ...words], { env })).rejects.toMatchObject({
      code: 1,
      stderr: `FIX   concurrency: reservedConcurrency reserves 5 concurrent executions and Lambda requires 100 to stay unreserved, but the account has only 10 unreserved
      -> lower reservedConcurrency for this stage in cdk.json (0 reserves nothing), or request a higher quota from Service Quotas (Lambda, concurrent executions)
FIX   log role of API Gateway: the account has no role with which API Gateway writes logs in this region
      -> set "manageApiLogRole": true for this stage in cdk.json

Nothing was deployed. Correct the above, then run the command again.
`,
    });
  } finally {
    await close(account);
  }
  expect(asked.sort()).toEqual(['/', '/', '/2016-08-19/account-settings', '/account', 'DescribeStacks']);
});

test('login uses the user pool of the deployment at the address', async () => {
  const outputs = (stage: string, region: string) => ({
    [`IntentGate-${stage}`]: { ApiUrl: `https://${stage}.example`, UserPoolId: `${region}_1`, AdminClientId: `client-${stage}` },
  });
  const { run: intentGate } = await openCommandLine(folder);
  const login = (url: string) =>
    intentGate(['--url', url, 'login', '--username', 'ada', '--password-stdin', '--endpoint', 'http://127.0.0.1:9'], 'x');
  const give = 'Give --region and --client-id (outputs UserPoolId and AdminClientId of the deployment), or --local.\n';

  expect(await login('https://test.example')).toEqual({
    code: 3,
    stdout: '',
    stderr: `Which user pool? No deployment was made from this folder with "npm run deploy". ${give}`,
  });
  for (const [stage, region] of [
    ['production', 'eu-west-1'],
    ['test', 'eu-central-1'],
  ] as const) {
    writeFileSync(join(folder, `cdk-outputs.${stage}.json`), JSON.stringify(outputs(stage, region)));
  }
  writeFileSync(join(folder, 'cdk-outputs.broken.json'), '{');
  expect(await login('https://other.example')).toEqual({
    code: 3,
    stdout: '',
    stderr: `Which user pool? No deployment from this folder has this address. Known addresses: https://production.example, https://test.example. ${give}`,
  });
  // Nothing listens at the endpoint, so the error shows that it was found.
  expect(await login('https://test.example')).toMatchObject({ code: 5 });
}, 60_000);
