import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  CognitoIdentityProviderClient,
  InitiateAuthCommand,
  RespondToAuthChallengeCommand,
} from '@aws-sdk/client-cognito-identity-provider';
import { KMSClient, PutKeyPolicyCommand } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { examineAdopted } from '../../bin/doctor/adopted.ts';
import { registerDemo } from '../../bin/local/upstream/register.ts';
import { startUpstream, type Upstream } from '../../bin/local/upstream/server.ts';
import { outputsFile, readOutputs } from '../../bin/outputs.ts';
import { connect } from '../../client/connect.ts';
import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';
import { obtainNamedKey } from '../../client/keys.ts';
import type { Signer } from '../../client/pats.ts';
import { addressIn, fetchPolicy } from '../../client/policy.ts';
import { verifyCheckpoint } from '../../client/receipts.ts';
import { backgroundFunctions, endpointsWith, hasFunction } from '../../lib/endpoints.ts';
import type { Settings } from '../../lib/settings.ts';
import { runConformance } from '../conformance/run.ts';
import { toolCall } from '../support/tool-call.ts';
import { account, credentials, type Emulator, installEmulator, region, startEmulator } from './emulator.ts';
import { accessKeyOf, type Gateway, startGateway } from './gateway.ts';
import { commandOf } from './guide.ts';
import { refusedOf } from './permissions-used.ts';

const run = promisify(execFile);
const stage = 'local';
const stack = 'IntentGate-local';
/** The emulator has no Contributor Insights. */
const watched = { alarmCallsPerAgent: '0' };
const settings = {
  ...watched,
  allowLoopback: 'true',
  retainData: 'false',
  signIn: 'true',
  receipts: 'keyed',
  // its secret is missing, and nothing waits for approval, so that nobody is told
  notify: '{"url":"https://hooks.example","secret":"notices"}',
};
/** An execution of the demo. */
const smokeOptions = { intentUid: 'world.example:get-country:v1', parameters: { code: 'CH' } };
const rows = [...endpointsWith({ signIn: true }).filter(hasFunction), ...backgroundFunctions];

interface Account {
  /** ARN and role by name */
  functions: Record<string, [arn: string, role: string]>;
  apis: string[];
  buckets: string[];
  interfaces: string[];
  [kind: string]: unknown;
}

let gateway: Gateway;
let emulator: Emulator;
let upstream: Upstream;
let folder: string;
let before: Account;
let outputs: Record<string, string>;
let adminToken: string;
let agent: Signer;
let pat: string;
let serviceId: string;

/** The environment of a shell that deploys to the emulated account. */
const shell = (at = region) => ({
  PATH: `${resolve('node_modules/.bin')}:${resolve('.venv/bin')}:${process.env.PATH}`,
  HOME: folder,
  AWS_ENDPOINT_URL: gateway.url,
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_REGION: at,
  AWS_DEFAULT_REGION: at,
  CDK_DISABLE_VERSION_CHECK: 'true',
  CDK_DISABLE_CLI_TELEMETRY: 'true',
});

/** Another region, with a stage of its own. */
const second = { region: 'eu-west-1', stage: 'test' };

/** Settings of that stage which the local stage does not have. The emulator has no associations of firewalls. */
const elsewhere = {
  customerManagedKey: 'true',
  machineClient: 'true',
  tags: '{"team":"gate"}',
  vpc: '{"vpcId":"vpc-0123456789abcdef0","subnetIds":["subnet-0123456789abcdef0"]}',
  privateOrigins: 'https://orders.internal:8443',
};

/** Runs a command in that shell, with the variables of docs/operations.md once something is deployed. Answers what it printed. */
async function follow(command: string, { at = region, name = stage } = {}): Promise<string> {
  const lines = readOutputs(name)
    ? [commandOf('Operations', 'output()', { production: name }), commandOf('Operations', 'URL=$(output'), `URL=${api()}`]
    : [];
  const { stdout } = await run('bash', ['-euc', [...lines, command].join('\n')], { env: shell(at), maxBuffer: 1e8 });
  return stdout;
}

/** Queries the account, or invokes a function. */
const askAccount = async (...parameters: string[]) =>
  JSON.parse((await run('.venv/bin/python', ['test/deploy/account.py', ...parameters], { env: shell(), maxBuffer: 1e8 })).stdout);

/** The emulator does not tell functions the host that they are called by, so the address is a setting. */
const contextOf = (more: Record<string, string>) =>
  Object.entries({ ...settings, policyFile: join(folder, 'policy.json'), publicBaseUrl: api(), ...more }).map(
    ([name, value]) => `-c '${name}=${value}'`,
  );

/** Options that the CDK needs here, beside those of docs/operations.md. */
const withOptions = (command: string, more: string[] = []) => [command, '--ci', '--output', join(folder, 'cdk.out'), ...more].join(' ');

async function deploy(more: Record<string, string> = {}): Promise<void> {
  const command = commandOf('Several environments', 'npm run deploy', { test: stage });
  await follow(withOptions(command, ['--require-approval', 'never', ...contextOf(more)]));
  outputs = readOutputs(stage) ?? {};
  const [apiId = ''] = ((await askAccount('list')) as Account).apis;
  gateway.pointTo(apiId);
}

const destroy = (more: Record<string, string> = {}) =>
  follow(withOptions(commandOf('Removing', 'npx cdk destroy -c', { 'stage=test': `stage=${stage}` }), ['--force', ...contextOf(more)]));

/** AWS tags buckets when it makes them; the emulator does not, and the CDK empties no bucket without the tag. */
async function letEmpty(name: string): Promise<void> {
  const { buckets } = (await askAccount('list')) as Account;
  for (const bucket of buckets.filter((found) => found.startsWith(`intentgate-${name}-`)))
    await askAccount('tag-bucket', bucket, 'aws-cdk:auto-delete-objects');
}

const unprotect = () => follow(commandOf('Removing', 'aws cloudformation', { '<stack>': stack }));

/** Base URL of the deployed API. The emulator serves it at another path than AWS does; the gateway translates. */
const api = () => `${gateway.url}/live`;

const lastingPassword = 'A-lasting-password-2';

const openCognito = () => new CognitoIdentityProviderClient({ endpoint: gateway.url, region, credentials });

/** Signs ada in, with the client of the deployment. */
const signIn = (password: string) =>
  openCognito().send(
    new InitiateAuthCommand({
      ClientId: outputs.AdminClientId,
      AuthFlow: 'USER_PASSWORD_AUTH',
      AuthParameters: { USERNAME: 'ada', PASSWORD: password },
    }),
  );

/** The first admin, who changes the temporary password at the first sign-in. */
async function createAdmin(): Promise<string> {
  const temporary = 'Temporary-password-1';
  const create = commandOf('The first admin', 'aws cognito-idp admin-create-user');
  await follow(`${create} --temporary-password ${temporary} --message-action SUPPRESS`);
  await follow(commandOf('The first admin', 'aws cognito-idp admin-add-user-to-group'));
  const ClientId = outputs.AdminClientId;
  const first = await signIn(temporary);
  expect(first.ChallengeName).toBe('NEW_PASSWORD_REQUIRED');
  const { AuthenticationResult } = await openCognito().send(
    new RespondToAuthChallengeCommand({
      ClientId,
      ChallengeName: 'NEW_PASSWORD_REQUIRED',
      Session: first.Session,
      ChallengeResponses: { USERNAME: 'ada', NEW_PASSWORD: lastingPassword },
    }),
  );
  return AuthenticationResult?.AccessToken ?? '';
}

const call = (method: string, url: string, options: ExchangeOptions = {}): Promise<Exchange> =>
  openHttp({ url: api() }).exchange(method, url.slice(api().length), options);

/** A new PAT for the agent, even if it has one. */
async function requestPat(): Promise<string> {
  const { policy } = await fetchPolicy(openHttp({ url: api() }));
  const gate = await connect(api(), { ...agent, onPolicy: () => true, publicUrl: addressIn(policy, api()) });
  return (await gate.obtainPat()).pat;
}

const getCountry = (bearer: string): Promise<Exchange> =>
  call('POST', `${api()}/api/intents/execute`, {
    bearer,
    body: { intent_uid: 'world.example:get-country:v1', parameters: { code: 'CH' } },
  });

/**
 * Asks the same again and again from before a change until it is done.
 * @returns the different answers
 */
async function answersDuring(change: () => Promise<unknown>, ask: () => Promise<string | number>): Promise<(string | number)[]> {
  const answers = new Set([await ask()]);
  let isDone = false;
  const changed = change().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    answers.add(await ask());
    await setTimeout(250);
  }
  await changed;
  return [...answers];
}

/** The logical ids of the stack's resources that reached a state since then, in that order. */
async function eventsSince(time: Date, state: string): Promise<string[]> {
  const command = `aws cloudformation describe-stack-events --stack-name ${stack} --output json`;
  const { StackEvents } = JSON.parse(await follow(command)) as { StackEvents: Record<string, string>[] };
  return StackEvents.reverse().flatMap(({ Timestamp = '', LogicalResourceId = '', ResourceStatus }) =>
    ResourceStatus === state && new Date(Timestamp) >= time ? [LogicalResourceId] : [],
  );
}

/** The id of the demo's service. */
async function findService(): Promise<string> {
  const { body } = await call('GET', `${api()}/api/intents/${smokeOptions.intentUid}?view=full`);
  return (body as { service_id: string }).service_id;
}

beforeAll(async () => {
  await installEmulator();
  folder = await mkdtemp(join(tmpdir(), 'deploy-'));
  const policy = JSON.parse(await readFile('bin/local/policy.json', 'utf8'));
  const target = `{base_url}/api/intents/${smokeOptions.intentUid}`;
  const constraint = [{ leftOperand: `${target}/parameters/code`, operator: 'eq', rightOperand: 'AQ' }];
  policy.permission.push({ target, action: 'execute', constraint, duty: [{ action: 'approve' }] });
  await writeFile(join(folder, 'policy.json'), JSON.stringify(policy));
  const started = await startGateway();
  gateway = started;
  emulator = await startEmulator(() => ({
    AWS_ENDPOINT_URL: started.url,
    // Lambdas find the user pool's keys in the emulator.
    NODE_OPTIONS: `--import ${new URL('../../bin/local/redirect-fetch.js', import.meta.url)}`,
    FETCH_REDIRECT: `https://cognito-idp.${region}.amazonaws.com ${started.url}`,
  }));
  started.forwardTo(emulator.port);
  upstream = await startUpstream();
  for (const at of [region, second.region]) {
    await follow(`${commandOf('Deploying', 'npx cdk bootstrap')} aws://${account}/${at} --ci`, { at });
  }
  before = await askAccount('list');
}, 300_000);

afterAll(async () => {
  await upstream?.stop();
  await emulator?.stop();
  await gateway?.stop();
  await rm(folder, { recursive: true, force: true });
  for (const name of [stage, second.stage]) await rm(outputsFile(name), { force: true });
});

describe('a deployment', () => {
  test('a deployment is refused, by doctor or guard, in an account that API Gateway cannot log in, and leaves nothing', async () => {
    await expect(deploy()).rejects.toThrow('FIX   log role of API Gateway');
    const direct = withOptions('npx cdk deploy', [
      '--require-approval',
      'never',
      `-c stage=${stage}`,
      ...contextOf({ retainData: 'true', unprotected: 'true' }),
    ]);
    await expect(follow(direct)).rejects.toThrow(/no role with which API Gateway writes logs in this region: set "manageApiLogRole": true/);
    expect(await askAccount('list')).toEqual(before);
    const role = `arn:aws:iam::${account}:role/api-gateway-logs`;
    const giveRole = `aws apigateway update-account --patch-operations op=replace,path=/cloudwatchRoleArn,value=${role}`;
    for (const at of [region, second.region]) await follow(giveRole, { at });
  }, 300_000);

  test('a deployment can be repeated after it was refused', async () => {
    await deploy();
    expect(Object.keys(outputs).sort()).toEqual([
      'ActivityTable',
      'AdminClientId',
      'ApiUrl',
      'ConsoleUrl',
      'DashboardUrl',
      'DocsUrl',
      'JwksUrl',
      'RegistryTable',
      'UserPoolId',
    ]);
    expect(await call('GET', `${api()}/health`)).toMatchObject({ status: 200, body: { status: 'ok' } });
  }, 300_000);

  test('a deployment gets its first admin', async () => {
    adminToken = await createAdmin();
    const answer = await call('POST', `${api()}/api/services`, { bearer: adminToken, body: {} });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER' } } });
  }, 60_000);

  test('a deployment passes the smoke test', async () => {
    await registerDemo({ baseUrl: api(), adminToken, upstreamUrl: upstream.url });
    expect(await follow(commandOf('Deploying', 'npm run smoke'))).toContain('PAT is accepted');
  }, 60_000);

  test('a deployment has alarms that can be tried', async () => {
    const list = await follow(commandOf('Runbook', 'aws cloudwatch describe-alarms'));
    const name = list.split(/\s+/).find((found) => found.startsWith(`${stack}-`)) ?? '';
    expect(name).not.toBe('');
    await follow(commandOf('Runbook', 'aws cloudwatch set-alarm-state', { '<name>': name }));
    const history = await follow(commandOf('Runbook', 'aws cloudwatch describe-alarm-history', { '<name>': name }));
    expect(JSON.parse(history)).toHaveProperty('AlarmHistoryItems');
  }, 60_000);

  test('a deployment refuses requests to /mcp/sign-in without a token itself, and lets those with one pass to the function', async () => {
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } };
    const metadata = `resource_metadata="${api()}/.well-known/oauth-protected-resource/mcp/sign-in"`;
    const connect = (method: string, options: ExchangeOptions = {}) => call(method, `${api()}/mcp/sign-in`, options);
    for (const [method, options] of [
      ['POST', { body: initialize }],
      ['POST', { body: toolCall('search_intents', { query: 'country' }) }],
      ['GET', {}],
      ['DELETE', {}],
    ] as const) {
      const refused = await connect(method, options);
      expect(refused).toMatchObject({ status: 401, body: { jsonrpc: '2.0', error: { code: -32041 } } });
      expect(refused.body).not.toHaveProperty('id');
      expect(refused.headers.get('www-authenticate')).toBe(`Bearer realm="intent-gate", ${metadata}`);
    }
    for (const bearer of ['not.a.pat', adminToken])
      expect(await connect('POST', { body: initialize, bearer })).toMatchObject({ status: 401, body: { id: 1, error: { code: -32041 } } });
    agent = await obtainNamedKey('sign-in');
    const bearer = await requestPat();
    expect(await connect('POST', { body: initialize, bearer })).toMatchObject({ status: 200, body: { id: 1 } });
    expect(await connect('GET', { bearer })).toMatchObject({ status: 405 });
    expect(await call('POST', `${api()}/mcp`, { body: initialize })).toMatchObject({ status: 200 });
  }, 60_000);

  test('a deployment conforms to the specification', async () => {
    const { checks, left_behind } = await runConformance(api(), { adminToken, upstreamUrl: upstream.url });
    const missed = checks.filter(({ outcome }) => outcome !== 'passed');
    expect(missed.map(({ id, notes }) => [id, notes])).toEqual([]);
    expect(left_behind).toEqual([]);
  }, 300_000);

  test('a deployment serves the endpoints that the specification does not list', async () => {
    agent = await obtainNamedKey('deploy');
    pat = await requestPat();
    const { body } = await call('GET', `${api()}/api/intents/${smokeOptions.intentUid}?view=full`);
    const service = `/api/services/${(body as { service_id: string }).service_id}`;
    const execution = { intent_uid: smokeOptions.intentUid, parameters: smokeOptions.parameters };
    const once = { 'Idempotency-Key': 'deploy-1' };
    const calls: [method: string, path: string, token: string, body?: object, headers?: Record<string, string>][] = [
      ['GET', '/agents.json', ''],
      ['GET', '/openapi.json', ''],
      ['GET', '/docs', ''],
      ['GET', `${service}/description`, ''],
      ['PUT', `${service}/credential`, adminToken, { headers: { Authorization: 'Bearer secret' }, origins: ['https://api.example.com'] }],
      ['POST', '/api/intents/execute', pat, execution, once],
      ['POST', '/api/intents/execute', pat, execution, once],
      ['POST', '/mcp', '', toolCall('search_intents', { query: 'country' })],
      ['POST', '/mcp', '', toolCall('get_intent', { intent_uid: smokeOptions.intentUid })],
      ['POST', '/mcp', '', toolCall('execute_intent', { ...execution, pat })],
      ['DELETE', `${service}/credential`, adminToken],
      ['GET', `/api/agents/${agent.agentId}`, adminToken],
      ['POST', `/api/agents/${agent.agentId}/revoke`, adminToken],
      ['DELETE', `/api/agents/${agent.agentId}`, adminToken],
    ];
    for (const [method, path, token, sent, headers] of calls) {
      const answer = await fetch(`${api()}${path}`, {
        method,
        headers: { ...(token && { Authorization: `Bearer ${token}` }), ...(sent && { 'Content-Type': 'application/json' }), ...headers },
        ...(sent && { body: JSON.stringify(sent) }),
      });
      const text = await answer.text();
      expect([method, path, answer.status, text.includes('isError":true')]).toEqual([method, path, method === 'DELETE' ? 204 : 200, false]);
    }
    expect(await getCountry(pat)).toMatchObject({ status: 401 });
  }, 60_000);

  test('a deployment lets functions ask each other: for the nearest uids, and for a PAT', async () => {
    const nearest = {
      status: 404,
      body: { error: { code: 'NOT_FOUND', details: { nearest: expect.arrayContaining([smokeOptions.intentUid]) } } },
    };
    const misspelt = smokeOptions.intentUid.replace('country', 'contry');
    expect(await call('GET', `${api()}/api/intents/${misspelt}`)).toMatchObject(nearest);
    const execution = { bearer: await requestPat(), body: { intent_uid: misspelt, parameters: {} } };
    expect(await call('POST', `${api()}/api/intents/execute`, execution)).toMatchObject(nearest);
    const accepted = { agent_id: 'nobody', agent_public_key: 'none', signed_policy: 'none' };
    const { text } = await call('POST', `${api()}/mcp`, { body: toolCall('accept_policy', accepted) });
    expect(text).toContain('INVALID_PARAMETER');
  }, 60_000);

  test('a deployment keeps a snapshot of the search index', async () => {
    const [name] = Object.keys(((await askAccount('list')) as Account).functions).filter((found) => found.includes('snapshotsearchindex'));
    expect(await askAccount('invoke', name ?? '')).toMatchObject({ error: null });
  });

  test('a deployment counts executions from the log, for the commands of the runbook', async () => {
    agent = await obtainNamedKey('usage');
    expect(await getCountry(await requestPat())).toMatchObject({ status: 200 });
    const [countUsage = ''] = Object.keys(((await askAccount('list')) as Account).functions).filter((found) =>
      found.includes('countusage'),
    );
    const top = commandOf('An agent is abusing a service', 'npx intent-gate agents top', { '"$SERVICE"': await findService() });
    const counted = new RegExp(`^${agent.agentId} +[1-9]`, 'm');
    let shown = '';
    for (const end = Date.now() + 60_000; !counted.test(shown) && Date.now() < end; ) {
      expect(await askAccount('invoke', countUsage)).toMatchObject({ error: null });
      shown = await follow(`INTENT_GATE_TOKEN=${adminToken} INTENT_GATE_URL=${api()} ${top}`);
    }
    expect(shown).toMatch(counted);
  }, 120_000);

  test('a deployment makes a call that waits for an admin, and has its receipt in the log', async () => {
    agent = await obtainNamedKey('waiting');
    const bearer = await requestPat();
    const asked = await call('POST', `${api()}/api/intents/execute`, {
      bearer,
      headers: { 'Idempotency-Key': 'waiting' },
      body: { intent_uid: smokeOptions.intentUid, parameters: { code: 'AQ' } },
    });
    expect(asked).toMatchObject({ status: 202, body: { status: 'waiting' } });
    const { execution } = asked.body as { execution: string };
    const waiting = await call('GET', `${api()}/api/approvals`, { bearer: adminToken });
    const [{ id, digest } = { id: '', digest: '' }] = (waiting.body as { approvals: { id: string; digest: string }[] }).approvals;
    const decision = { bearer: adminToken, headers: { 'If-Match': `"${digest}"` }, body: { decision: 'approve' } };
    expect(await call('POST', `${api()}/api/approvals/${id}`, decision)).toMatchObject({ status: 200 });
    const ask = () => call('GET', execution, { bearer });
    let state = await ask();
    for (const end = Date.now() + 60_000; state.text.includes('"working"') && Date.now() < end; state = await ask()) await setTimeout(500);
    expect(state).toMatchObject({ status: 200, body: { status: 'done', outcome: { status: 200, body: { name: 'Antarctica' } } } });
    expect(state.headers.get('execution-receipt')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);

    const [sequence = ''] = Object.keys(((await askAccount('list')) as Account).functions).filter((name) =>
      name.includes('sequencereceipts'),
    );
    expect(await askAccount('invoke', sequence)).toMatchObject({ error: null });
    expect(await call('GET', `${execution}/proof`)).toMatchObject({ status: 200 });
    const [key, checkpoint] = await Promise.all(['key', 'checkpoint'].map((name) => call('GET', `${api()}/log/${name}`)));
    expect((await verifyCheckpoint(checkpoint?.text ?? '', key?.text.trim() ?? '')).size).toBeGreaterThan(1);
  }, 120_000);

  test('a deployment enters a network and leaves it, without a failed call and without leaving anything in it', async () => {
    agent = await obtainNamedKey('network');
    pat = await requestPat();
    const run = async () => (await getCountry(pat)).status;
    const outside = (await askAccount('list')) as Account;
    const vpcId = (await follow('aws ec2 create-vpc --cidr-block 10.0.0.0/16 --query Vpc.VpcId --output text')).trim();
    const createSubnet = `aws ec2 create-subnet --vpc-id ${vpcId} --cidr-block 10.0.1.0/24 --query Subnet.SubnetId --output text`;
    const subnetId = (await follow(createSubnet)).trim();
    const prepared = (await askAccount('list')) as Account;

    const entered = new Date();
    const inside = { vpc: JSON.stringify({ vpcId, subnetIds: [subnetId] }), privateOrigins: 'https://orders.internal' };
    const served = [200, 429];
    expect(served).toEqual(expect.arrayContaining(await answersDuring(() => deploy(inside), run)));
    const changed = (await eventsSince(entered, 'UPDATE_COMPLETE')).filter((id) => /^Network|^executeintentFunction/.test(id));
    expect(changed.map((id) => id.slice(0, -8))).toEqual(['NetworkInterfaces', 'NetworkEgress', 'executeintentFunction']);
    expect(((await askAccount('list')) as Account).interfaces).toHaveLength(prepared.interfaces.length + 1);

    const left = new Date();
    expect(served).toEqual(expect.arrayContaining(await answersDuring(() => deploy(), run)));
    expect(await eventsSince(left, 'DELETE_FAILED')).toEqual([]);
    expect(await askAccount('list')).toEqual(prepared);
    await follow(`aws ec2 delete-subnet --subnet-id ${subnetId} && aws ec2 delete-vpc --vpc-id ${vpcId}`);
    expect(await askAccount('list')).toEqual(outside);
  }, 300_000);

  // The emulator moves all requests to a new version at once, and has no alarm roll it back.
  test('a deployment answers while another stage beside it deploys gradually, changes its policy, and stops deploying gradually', async () => {
    const policyFile = join(folder, 'other-policy.json');
    await cp('samples/policies/office-hours.json', policyFile);
    const deployment = commandOf('Several environments', 'npm run deploy');
    const idOf = `aws apigateway get-rest-apis --query "items[?name=='IntentGate-${second.stage}'].id" --output text`;
    const deployBeside = async (more: Record<string, string>) => {
      const options = Object.entries({ ...watched, publicBaseUrl: api(), ...more }).map(([name, value]) => `-c '${name}=${value}'`);
      await follow(withOptions(deployment, ['--require-approval', 'never', ...options]));
      gateway.pointTo((await follow(idOf)).trim());
    };
    const [before = ''] = ((await askAccount('list')) as Account).apis;
    await deployBeside({ gradualDeployment: 'true' });

    agent = await obtainNamedKey('gradual');
    pat = await requestPat();
    const accepted = { agent_id: 'nobody', agent_public_key: 'none', signed_policy: 'none' };
    /** The codes of an execution and of MCP's request for a PAT, each of which runs a function behind an alias. */
    const ask = async () => {
      const execution = { bearer: pat, body: { intent_uid: 'a.example:b:v1', parameters: {} } };
      const answers = [
        await call('POST', `${api()}/api/intents/execute`, execution),
        await call('POST', `${api()}/mcp`, { body: toolCall('accept_policy', accepted) }),
      ];
      return answers.map(({ text }) => /INVALID_PARAMETER|NOT_FOUND|UNAUTHORIZED|policy_changed|Not Found/.exec(text)?.[0] ?? text).join();
    };
    // A changed policy ends the PAT. The emulator replaces an API whose definition changes, and the old one may be gone before this test knows the new one.
    const expectedAnswers = /^(NOT_FOUND|UNAUTHORIZED|policy_changed|Not Found),(INVALID_PARAMETER|Not Found)$/;
    const aliases = async () => {
      const [name = ''] = Object.keys(((await askAccount('list')) as Account).functions).filter((found) =>
        found.startsWith(`IntentGate-${second.stage}-executeintentFunction`),
      );
      const listed = await follow(`aws lambda list-aliases --function-name ${name} --query 'Aliases[].Name' --output text`);
      return listed.split(/\s+/).filter(Boolean);
    };
    const [[usual, ...none]] = [await aliases()] as [string[]];
    expect([usual, none]).toEqual([expect.stringMatching(/^live-[0-9a-f]{12}$/), []]);
    for (const [settings, expected] of [
      [{ gradualDeployment: 'true', policyFile }, [expect.not.stringMatching(String(usual))]],
      [{ policyFile }, []],
      [{ gradualDeployment: 'true' }, [usual]],
      [{ gradualDeployment: 'true', patLifeSeconds: '1800' }, [usual]],
    ] as const) {
      const answers = await answersDuring(() => deployBeside(settings), ask);
      expect([settings, answers.filter((answer) => !expectedAnswers.test(String(answer)))]).toEqual([settings, []]);
      expect(await aliases()).toEqual(expected);
      pat = await requestPat();
      expect(await ask()).toBe('NOT_FOUND,INVALID_PARAMETER');
    }
    gateway.pointTo(before);
    await letEmpty(second.stage);
    await follow(withOptions(commandOf('Removing', 'npx cdk destroy -c'), ['--force']));
    await rm(outputsFile(second.stage));
  }, 600_000);

  test('a deployment applies a changed setting, and keeps data and PATs', async () => {
    agent = await obtainNamedKey('deploy');
    pat = await requestPat();
    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
    const keysBefore = await call('GET', `${api()}/.well-known/jwks.json`);

    await deploy({ patLifeSeconds: '1800', signingKeys: 'first,second' });
    await deploy({ patLifeSeconds: '1800', signingKeys: 'second,first' });

    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
    const keysNow = await call('GET', `${api()}/.well-known/jwks.json`);
    const [newest, ...older] = (keysNow.body as JSONWebKeySet).keys;
    expect(older).toEqual((keysBefore.body as JSONWebKeySet).keys);
    const renewed = await requestPat();
    expect(decodeProtectedHeader(renewed).kid).toBe(newest?.kid);
    const { iat = 0, exp = 0 } = decodeJwt(renewed);
    expect(exp - iat).toBe(1_800);
    expect(await getCountry(renewed)).toMatchObject({ status: 200 });
  }, 300_000);

  test('a deployment stands beside another stage in another region', async () => {
    const deployment = commandOf('Several environments', 'npm run deploy');
    const options = Object.entries({ ...watched, ...elsewhere, publicBaseUrl: api() }).map(([name, value]) => `-c '${name}=${value}'`);
    await follow(withOptions(deployment, ['--require-approval', 'never', ...options]), { at: second.region });
    const others = readOutputs(second.stage) ?? {};
    expect(Object.keys(others).sort()).toEqual(Object.keys(outputs).sort());
    for (const name of ['RegistryTable', 'ActivityTable', 'UserPoolId', 'AdminClientId', 'DashboardUrl']) {
      expect([name, others[name] === outputs[name]]).toEqual([name, false]);
    }
    expect(others.UserPoolId).toMatch(/^eu-west-1_/);
    expect(readOutputs(stage)).toEqual(outputs);
    expect(await getCountry(pat)).toMatchObject({ status: 200 });

    await letEmpty(second.stage);
    await follow(withOptions(commandOf('Removing', 'npx cdk destroy -c'), ['--force']), { at: second.region });
    expect(await getCountry(pat)).toMatchObject({ status: 200 });
  }, 300_000);

  test('a deployment deletes on request', async () => {
    serviceId = await findService();
    const date = { '2027-01-31T09:00:00Z': new Date().toISOString() };
    await follow(commandOf('Restoring', 'aws dynamodb restore-table-to-point-in-time', date));
    await follow(commandOf('Restoring', 'aws dynamodb wait'));
    const authorization = { method: 'DELETE', headers: { Authorization: `Bearer ${adminToken}` } };
    expect((await fetch(`${api()}/api/intents/world.example:get-currency:v1`, authorization)).status).toBe(204);
    expect((await fetch(`${api()}/api/services/${serviceId}`, authorization)).status).toBe(204);
    expect(await getCountry(pat)).toMatchObject({ status: 404 });
  });

  test('a deployment restores a deleted service from a copy of its table', async () => {
    const file = join(folder, 'registry.yaml');
    await follow(commandOf('Restoring', 'npm run restore -- --from', { $SERVICE: serviceId, 'registry.yaml': file }));
    const apply = `${commandOf('Restoring', 'npx intent-gate apply registry', { 'registry.yaml': file })} --json --url ${api()}`;
    const [{ applied }] = JSON.parse(await follow(`INTENT_GATE_TOKEN=${adminToken} ${apply}`));
    serviceId = applied.service_id;
    expect(await call('GET', `${api()}/api/services/${serviceId}`)).toMatchObject({ status: 200 });
    const { body } = await call('GET', `${api()}/api/services/${serviceId}/intents?page_size=1`);
    expect(body).toMatchObject({ pagination: { total_results: applied.created } });
    const found = await call('GET', `${api()}/api/intents/search?query=currency+of+a+country`);
    expect(JSON.stringify(found.body)).toContain('world.example:get-currency:v1');
    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
    await follow(commandOf('Restoring', 'aws dynamodb delete-table'));
  }, 60_000);

  test('a deployment grants each function what it used', async () => {
    const { functions } = (await askAccount('list')) as Account;
    const used = new Set<string>();
    for (const row of rows) {
      const [arn = '', role = ''] =
        Object.entries(functions).find(([name]) => name.includes(`-${row.name.replaceAll('-', '')}Function`))?.[1] ?? [];
      expect([row.name, arn]).toEqual([row.name, expect.stringContaining(':function:')]);
      const calls = gateway.calls.filter(({ accessKeyId }) => accessKeyId === accessKeyOf(arn, role));
      if (calls.length > 0) used.add(row.name);
      const refused = new Set(calls.flatMap((made) => refusedOf(row, made)));
      expect({ name: row.name, refused: [...refused] }).toEqual({ name: row.name, refused: [] });
    }
    // what the smoke test alone uses, so that this also holds in a run of fewer tests
    expect([...used]).toEqual(expect.arrayContaining(['execute-intent', 'issue-pat', 'search-intents']));
  });

  test('a deployment is destroyed without a trace', async () => {
    await letEmpty(stage);
    await destroy();
    expect(await askAccount('list')).toEqual(before);
  }, 300_000);
});

describe('a stack that was deleted by accident', () => {
  const withLog = { receipts: 'keyed' };
  const kept = { ...withLog, retainData: 'true', requireAdminMfa: 'false', signIn: 'false' };
  let left: [type: string, logicalId: string, id: string][];
  const leftOf = (type: string, logicalId = ''): string =>
    left.find(([found, logical]) => found === type && logical.startsWith(logicalId))?.[2] ?? '';
  let adopt: NonNullable<Settings['adopt']>;
  let jwks: unknown;

  test('a deployed stack is protected once it has been created, and leaves its data', async () => {
    await deploy(kept);
    adminToken = await createAdmin();
    await registerDemo({ baseUrl: api(), adminToken, upstreamUrl: upstream.url });
    agent = await obtainNamedKey('adopt');
    pat = await requestPat();
    jwks = (await call('GET', `${api()}/.well-known/jwks.json`)).body;
    await expect(destroy(kept)).rejects.toThrow(/[Tt]ermination ?[Pp]rotection/);
    await unprotect();
    await destroy(kept);
    const find = commandOf('Taking over what a deleted stack left', 'STACK=', { "'IntentGate'": `'${stack}'` });
    const show = commandOf('Taking over what a deleted stack left', 'aws cloudformation describe-stack-events', {
      'output table': 'output json',
    });
    left = JSON.parse(await follow(`${find}\n${show}`));
    expect(left.map(([type]) => type).sort()).toEqual([
      'AWS::Cognito::UserPool',
      'AWS::Cognito::UserPoolGroup',
      'AWS::DynamoDB::GlobalTable',
      'AWS::DynamoDB::GlobalTable',
      'AWS::KMS::Alias',
      'AWS::KMS::Alias',
      'AWS::KMS::Alias',
      'AWS::KMS::Key',
      'AWS::KMS::Key',
      'AWS::KMS::Key',
      'AWS::S3::Bucket',
      'AWS::S3::Bucket',
      'AWS::S3::BucketPolicy',
      'AWS::S3::BucketPolicy',
    ]);
  }, 300_000);

  test('a successor takes over what a stack left when it was deleted by accident', async () => {
    const keyArn = (id: string) => `arn:aws:kms:${region}:${account}:key/${leftOf('AWS::KMS::Key', id)}`;
    adopt = {
      registryTable: leftOf('AWS::DynamoDB::GlobalTable', 'Registry'),
      activityTable: leftOf('AWS::DynamoDB::GlobalTable', 'Activity'),
      userPoolId: leftOf('AWS::Cognito::UserPool'),
      signingKeys: { first: keyArn('SigningKey') },
      receiptKey: keyArn('ReceiptKey'),
      logKey: keyArn('LogKey'),
      receiptBucket: leftOf('AWS::S3::Bucket', 'ReceiptLog'),
    };
    await deploy({ ...withLog, retainData: 'true', adopt: JSON.stringify(adopt), signIn: 'false' });
    expect(await call('GET', `${api()}/.well-known/jwks.json`)).toMatchObject({ status: 200, body: jwks });
    expect(await call('GET', `${api()}/api/intents/${smokeOptions.intentUid}`)).toMatchObject({ status: 200 });
    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
    const found = await call('GET', `${api()}/api/intents/search?query=currency+of+a+country`);
    expect(JSON.stringify(found.body)).toContain('world.example:get-currency:v1');
  }, 300_000);

  // The emulator neither turns a deleted role in a key's policy into its id, nor gives global tables what their replicas ask for.
  test('the keys of a deleted stack can be given the policy of the successor', async () => {
    const kms = new KMSClient({ endpoint: gateway.url, region, credentials });
    const wanted = outputs.SigningKeyPolicy ?? '';
    await kms.send(new PutKeyPolicyCommand({ KeyId: adopt.signingKeys?.first, Policy: wanted.replace(/:role\/[^"]+/, ':role/gone') }));
    const examineKeys = async () =>
      (await examineAdopted(adopt, outputs, { endpoint: gateway.url, region, credentials })).filter(({ detail }) =>
        detail.startsWith('the key'),
      );
    const [problem] = await examineKeys();
    expect(problem?.detail).toBe('the key "first" does not allow this stack to sign, so it cannot issue PATs');
    expect(problem?.remedy).toMatch(/^aws kms put-key-policy /);
    await follow(problem?.remedy ?? '');
    expect(await examineKeys()).toEqual([]);
    pat = await requestPat();
    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
  }, 60_000);

  test('the successor of a deleted stack has its admins', async () => {
    const { AuthenticationResult } = await signIn(lastingPassword);
    const created = await call('POST', `${api()}/api/services`, {
      bearer: AuthenticationResult?.AccessToken ?? '',
      body: { service_name: 'Afterwards', service_url: 'https://afterwards.example', description: 'Registered in the new stack' },
    });
    expect(created).toMatchObject({ status: 201 });
    const bound = await call('GET', `${api()}/api/agents/${agent.agentId}`, { bearer: AuthenticationResult?.AccessToken ?? '' });
    expect(bound).toMatchObject({ status: 200 });
  }, 60_000);

  test('a successor refuses a deployment that would abandon what it adopted', async () => {
    await expect(deploy(kept)).rejects.toThrow(/adopt\.registryTable: this stack has adopted/);
    expect(await getCountry(pat)).toMatchObject({ status: 200 });
  }, 300_000);

  test('a deleted stack leaves nothing once everything has been deleted by hand', async () => {
    await unprotect();
    await destroy({ ...withLog, retainData: 'true', adopt: JSON.stringify(adopt) });
    await askAccount('discard', JSON.stringify(before));
    expect(await askAccount('list')).toEqual(before);
  }, 300_000);
});
