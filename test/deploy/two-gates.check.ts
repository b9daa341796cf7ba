import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from '../../client/connect.ts';
import { openHttp } from '../../client/http.ts';
import { obtainNamedKey } from '../../client/keys.ts';
import { installPackage } from '../support/package.ts';
import { account, credentials, type Emulator, installEmulator, region, startEmulator } from './emulator.ts';
import { type Gateway, startGateway } from './gateway.ts';

const run = promisify(execFile);
let folder: string;
let gateway: Gateway;
let emulator: Emulator;

/** The app of another team with two gates, which share a user pool. The emulator has no Contributor Insights (`alarmCallsPerAgent`). */
const app = (url: string) => `
import { App, Stack } from 'aws-cdk-lib';
import { UserPool } from 'aws-cdk-lib/aws-cognito';
import { IntentGate } from 'intent-gate-cdk';

const app = new App();
const shared = new Stack(app, 'Shared');
const userPool = new UserPool(shared, 'Admins');
userPool.addGroup('AdminGroup', { groupName: 'admins' });
for (const name of ['Orders', 'Billing']) {
  const settings = { stage: 'test', retainData: false, manageApiLogRole: true, alarmCallsPerAgent: 0, publicBaseUrl: '${url}' };
  new IntentGate(new Stack(app, name), 'Gate', { policy: 'policy.json', userPool, ...settings });
}
`;

/** Runs a command in the app's folder, in the emulated account. */
async function follow(command: string): Promise<string> {
  const env = {
    PATH: `${resolve('node_modules/.bin')}:${resolve('.venv/bin')}:${process.env.PATH}`,
    HOME: folder,
    AWS_ENDPOINT_URL: gateway.url,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    CDK_DISABLE_VERSION_CHECK: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
  };
  return (await run('bash', ['-euc', command], { cwd: folder, env, maxBuffer: 1e8 })).stdout;
}

const url = () => `${gateway.url}/live`;

beforeAll(async () => {
  await installEmulator();
  folder = await mkdtemp(join(tmpdir(), 'two-gates-'));
  await installPackage(folder);
  const started = await startGateway();
  gateway = started;
  emulator = await startEmulator(() => ({ AWS_ENDPOINT_URL: started.url }));
  started.forwardTo(emulator.port);
  await writeFile(join(folder, 'app.js'), app(url()));
  await follow(`cdk bootstrap --app '' aws://${account}/${region} --ci`);
}, 300_000);

afterAll(async () => {
  await emulator?.stop();
  await gateway?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('two gates of one app stand side by side in one account', async () => {
  await follow(`cdk deploy --all --app 'node app.js' --require-approval never --ci`);
  const { items } = JSON.parse(await follow('aws apigateway get-rest-apis --output json')) as { items: { id: string; name: string }[] };
  const apis = ['Orders', 'Billing'].map((name) => items.find((api) => api.name.startsWith(`${name}-Gate-`))?.id ?? '');
  expect(items.map(({ id }) => id).sort()).toEqual([...apis].sort());

  // Each issues PATs that it accepts, and the other does not.
  const execute = async (bearer: string) =>
    (
      await openHttp({ url: url() }).exchange('POST', '/api/intents/execute', {
        bearer,
        body: { intent_uid: 'a.example:b:v1', parameters: {} },
      })
    ).status;
  const agent = await obtainNamedKey('two-gates');
  const pats: string[] = [];
  for (const api of apis) {
    gateway.pointTo(api);
    pats.push((await (await connect(url(), { ...agent, onPolicy: () => true })).obtainPat()).pat);
  }
  const statuses: number[][] = [];
  for (const api of apis) {
    gateway.pointTo(api);
    statuses.push([await execute(pats[0] ?? ''), await execute(pats[1] ?? '')]);
  }
  expect(statuses).toEqual([
    [404, 401],
    [401, 404],
  ]);

  const dashboards: string[] = JSON.parse(
    await follow(`aws cloudwatch list-dashboards --query 'DashboardEntries[].DashboardName' --output json`),
  );
  expect(dashboards.sort()).toEqual([expect.stringMatching(/^Billing-Gate-/), expect.stringMatching(/^Orders-Gate-/)]);
}, 600_000);

test('one gate can be removed without the other', async () => {
  const { Buckets } = JSON.parse(await follow('aws s3api list-buckets --output json')) as { Buckets: { Name: string }[] };
  for (const { Name } of Buckets.filter((bucket) => bucket.Name.startsWith('orders-')))
    await follow(`aws s3api put-bucket-tagging --bucket ${Name} --tagging 'TagSet=[{Key=aws-cdk:auto-delete-objects,Value=true}]'`);
  await follow(`cdk destroy Orders --app 'node app.js' --force --ci`);
  const { items } = JSON.parse(await follow('aws apigateway get-rest-apis --output json')) as { items: { id: string; name: string }[] };
  expect(items.map(({ name }) => name)).toEqual([expect.stringMatching(/^Billing-Gate-/)]);
  gateway.pointTo(items[0]?.id ?? '');
  expect(await openHttp({ url: url() }).exchange('GET', '/health')).toMatchObject({ status: 200 });
}, 300_000);
