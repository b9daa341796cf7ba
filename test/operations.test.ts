import { execFile } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseSettings } from '../lib/settings.ts';
import { readRegistry } from '../registry/files.ts';
import { copyTable } from './support/copy-table.ts';
import { makeFolder } from './support/folder.ts';
import { intentOf, serviceNamed } from './support/records.ts';
import { startRegistry } from './support/registry.ts';

const guide = readFileSync('docs/operations.md', 'utf8');
const blocks = (language: string): string[] =>
  [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)].filter(([, found]) => found === language).map(([, , text = '']) => text);

const sampleOf = (name: string): string => readFileSync(`samples/github-actions/${name}`, 'utf8');

test('the role that GitHub deploys with trusts exactly what the workflow presents', () => {
  const workflow = parse(sampleOf('deploy.yml'));
  const trust = JSON.parse(sampleOf('trust.json'));
  expect(trust.Statement).toHaveLength(1);
  const [statement] = trust.Statement;
  const issuer = 'token.actions.githubusercontent.com';
  expect(statement.Principal.Federated).toBe(`arn:aws:iam::<account>:oidc-provider/${issuer}`);
  expect(statement.Condition).toEqual({
    StringEquals: {
      [`${issuer}:aud`]: 'sts.amazonaws.com',
      [`${issuer}:sub`]: workflow.jobs.deploy.strategy.matrix.stage.map(
        (environment: string) => `repo:<owner>/<repository>:environment:${environment}`,
      ),
    },
  });
  expect(workflow.permissions).toEqual({ 'id-token': 'write', contents: 'read' });
});

test('the workflow deploys to the test stage first, and returns to the previous commit after a failed smoke test', () => {
  const { strategy, environment, steps } = parse(sampleOf('deploy.yml')).jobs.deploy;
  expect({ strategy, environment }).toEqual({
    strategy: { 'max-parallel': 1, 'fail-fast': true, matrix: { stage: ['test', 'production'] } },
    environment: expect.stringContaining('matrix.stage'),
  });
  const [, , , , deploy, smoke, back] = steps;
  expect(deploy.run).toBe('npm run deploy -- "$STAGE" --require-approval never');
  expect(smoke).toMatchObject({ id: 'smoke', run: expect.stringMatching(/^npm run smoke -- /) });
  expect(back.if).toBe("failure() && steps.smoke.conclusion == 'failure'");
  expect(back.run.trim().split('\n')).toEqual(['git checkout "$PREVIOUS"', steps[2].run, deploy.run]);
});

test('workflows pin their actions to commit digests', () => {
  const texts = [sampleOf('deploy.yml'), ...globSync('.github/workflows/*.yml').map((file) => readFileSync(file, 'utf8'))];
  const used = texts.flatMap((text) => [...text.matchAll(/uses: (\S+)/g)].map(([, action = '']) => action));
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});

const folder = makeFolder();
const script = (part: string): string => blocks('').find((text) => text.includes(part)) ?? '';

const runScript = (text: string, cwd: string, environment: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)('bash', ['-euo', 'pipefail', '-c', text], { cwd, env: { PATH: process.env.PATH, ...environment } });

test('the variables of the commands come from the outputs of a stage', async () => {
  const outputs = {
    ApiUrl: 'https://a.example',
    UserPoolId: 'eu-west-1_1',
    AdminClientId: 'client',
    RegistryTable: 'Registry-1',
    ActivityTable: 'Activity-1',
  };
  writeFileSync(join(folder, 'cdk-outputs.production.json'), JSON.stringify({ IntentGate: outputs }));
  const { stdout } = await runScript(`${script('output()')}echo "$URL $POOL $CLIENT $TABLE $ACTIVITY"`, folder);
  expect(stdout).toBe('https://a.example eu-west-1_1 client Registry-1 Activity-1\n');
});

test('the commands that restore do what the guide says', async () => {
  const registry = await startRegistry();
  const client = new DynamoDBClient({ endpoint: registry.endpoint });
  const uid = 'world.example:get-country:v1';
  const { service_id: SERVICE } = await registry.services.create(serviceNamed('World'));
  await registry.intents.create(SERVICE, intentOf(uid));
  const TABLE = registry.tableNames.registry;
  await copyTable(client, TABLE, 'restored');
  await registry.intents.remove(uid, () => true);
  // DynamoDB's own operations have been played above; of the command line, what it is told is shown.
  const restore = ['bin/run.js', 'bin/restore.ts'].map((file) => `"${resolve(file)}"`).join(' ');
  const standIns = `aws() { :; }\nnpm() { shift 3; "${process.execPath}" ${restore} "$@"; }\nnpx() { echo "$@"; }\n`;
  const { AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  const { stdout } = await runScript(standIns + script('npm run restore'), folder, {
    AWS_REGION,
    AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY,
    AWS_ENDPOINT_URL_DYNAMODB: registry.endpoint,
    TABLE,
    SERVICE,
  });
  const [, , file = ''] = /^intent-gate apply (--dry-run )?(\S+)$/m.exec(stdout) ?? [];
  const restored = await readRegistry(join(folder, file));
  client.destroy();
  await registry.stop();
  expect(stdout).toBe(`intent-gate apply --dry-run ${file}\nintent-gate apply ${file}\n`);
  expect(restored).toMatchObject([{ service: serviceNamed('World'), intents: [{ intent_uid: uid }] }]);
}, 60_000);

test('the settings that take over what a deleted stack left are accepted', () => {
  const [, text = ''] = /^ {3}```json\n(.*?)^ {3}```$/ms.exec(guide) ?? [];
  const { stages } = JSON.parse(`{${text}}`);
  expect(parseSettings(stages.production).adopt).toEqual(stages.production.adopt);
});
