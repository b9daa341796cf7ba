import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openCommandLine } from '../cli/command-line.ts';

const run = promisify(execFile);
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'deploy-command-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

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

test('login takes the user pool of the deployment that has the address', async () => {
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
    stderr: `Which user pool? No deployment from this folder has this address; those here have https://production.example, https://test.example. ${give}`,
  });
  // Nothing listens at the endpoint: it knew where to go.
  expect(await login('https://test.example')).toMatchObject({ code: 5 });
}, 60_000);
