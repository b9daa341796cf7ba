import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  AdminAddUserToGroupCommand,
  AdminCreateUserCommand,
  CognitoIdentityProviderClient,
  InitiateAuthCommand,
  RespondToAuthChallengeCommand,
} from '@aws-sdk/client-cognito-identity-provider';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { runConformance } from '../../bin/conform/run.ts';
import { shakeHands } from '../../bin/demo/handshake.ts';
import { play } from '../../bin/demo/play.ts';
import { registerDemo } from '../../bin/local/upstream/register.ts';
import { startUpstream, type Upstream } from '../../bin/local/upstream/server.ts';
import { readError } from '../../bin/probes.ts';
import { connect } from '../../client/connect.ts';
import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';
import { obtainNamedKey } from '../../client/keys.ts';
import type { Signer } from '../../client/pats.ts';
import { addressIn, fetchPolicy } from '../../client/policy.ts';
import { backgroundFunctions, endpoints } from '../../lib/endpoints.ts';
import { account, credentials, type Emulator, installEmulator, region, startEmulator } from './emulator.ts';
import { accessKeyOf, type Gateway, startGateway } from './gateway.ts';
import { describeCall, isGranted } from './permissions-used.ts';

const run = promisify(execFile);
const settings = {
  stage: 'local',
  allowLoopback: 'true',
  policyFile: 'bin/local/policy.json',
  retainData: 'false',
};
/** Command-line options of the smoke test. */
const smokeOptions = { protocol: 'proto', intentUid: 'world.example:get-country:v1', parameters: { code: 'CH' } };
const rows = [...endpoints, ...backgroundFunctions];

interface Account {
  /** ARN and role by name */
  functions: Record<string, [arn: string, role: string]>;
  apis: string[];
  buckets: string[];
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

/** The environment of a shell that deploys to the emulated account. */
const shell = () => ({
  PATH: process.env.PATH,
  HOME: folder,
  AWS_ENDPOINT_URL: gateway.url,
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_REGION: region,
  AWS_DEFAULT_REGION: region,
  CDK_DISABLE_VERSION_CHECK: 'true',
  CDK_DISABLE_CLI_TELEMETRY: 'true',
});

const cdk = (...parameters: string[]) => run('cdk', [...parameters, '--ci'], { env: shell(), maxBuffer: 1e8 });

/** Queries the account, or invokes a function. */
const askAccount = async (...parameters: string[]) =>
  JSON.parse((await run('.venv/bin/python', ['test/deploy/account.py', ...parameters], { env: shell(), maxBuffer: 1e8 })).stdout);

async function deploy(more: Record<string, string> = {}): Promise<void> {
  const context = Object.entries({ ...settings, ...more }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const outputsFile = join(folder, 'cdk-outputs.json');
  await cdk('deploy', '--require-approval', 'never', '--output', join(folder, 'cdk.out'), '--outputs-file', outputsFile, ...context);
  outputs = JSON.parse(await readFile(outputsFile, 'utf8'))['IntentGate-local'];
  const [apiId = ''] = ((await askAccount('list')) as Account).apis;
  gateway.pointTo(apiId);
}

/** Base URL of the deployed API. The emulator serves it at another path than AWS does; the gateway translates. */
const api = () => `${gateway.url}/live`;

/** As docs/operations.md says: a temporary password, changed at the first sign-in, and the group. */
async function createAdmin(): Promise<string> {
  const cognito = new CognitoIdentityProviderClient({ endpoint: gateway.url, region, credentials });
  const user = { UserPoolId: outputs.UserPoolId, Username: 'ada' };
  const [temporary, lasting] = ['Temporary-password-1', 'A-lasting-password-2'];
  await cognito.send(new AdminCreateUserCommand({ ...user, TemporaryPassword: temporary, MessageAction: 'SUPPRESS' }));
  await cognito.send(new AdminAddUserToGroupCommand({ ...user, GroupName: 'admins' }));
  const ClientId = outputs.AdminClientId;
  const first = await cognito.send(
    new InitiateAuthCommand({ ClientId, AuthFlow: 'USER_PASSWORD_AUTH', AuthParameters: { USERNAME: 'ada', PASSWORD: temporary } }),
  );
  expect(first.ChallengeName).toBe('NEW_PASSWORD_REQUIRED');
  const { AuthenticationResult } = await cognito.send(
    new RespondToAuthChallengeCommand({
      ClientId,
      ChallengeName: 'NEW_PASSWORD_REQUIRED',
      Session: first.Session,
      ChallengeResponses: { USERNAME: 'ada', NEW_PASSWORD: lasting },
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

beforeAll(async () => {
  await installEmulator();
  folder = await mkdtemp(join(tmpdir(), 'deploy-'));
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
  await cdk('bootstrap', `aws://${account}/${region}`);
  before = await askAccount('list');
}, 300_000);

afterAll(async () => {
  await upstream?.stop();
  await emulator?.stop();
  await gateway?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a deployment', () => {
  test('succeeds at the first try', async () => {
    await deploy();
    expect(Object.keys(outputs).sort()).toEqual([
      'ActivityTable',
      'AdminClientId',
      'ApiUrl',
      'DashboardUrl',
      'DocsUrl',
      'JwksUrl',
      'RegistryTable',
      'UserPoolId',
    ]);
    expect(await call('GET', `${api()}/health`)).toMatchObject({ status: 200, body: { status: 'ok' } });
  }, 300_000);

  test('gets its first admin', async () => {
    adminToken = await createAdmin();
    const answer = await call('POST', `${api()}/api/services`, { bearer: adminToken, body: {} });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER' } } });
  }, 60_000);

  test('plays the demo through', async () => {
    await registerDemo({ baseUrl: api(), adminToken, upstreamUrl: upstream.url });
    const statuses: number[] = [];
    for await (const { answer } of play(api())) statuses.push(answer.status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 401, 403, 429]);
  }, 120_000);

  test('shakes hands with the smoke test', async () => {
    const seen: [string, number][] = [];
    for await (const [name, { status }] of shakeHands(api(), smokeOptions)) seen.push([name, status]);
    expect(seen).toEqual([
      ['health', 200],
      ['public keys', 200],
      ['search', 200],
      ['policy', 200],
      ['PAT', 200],
      ['PAT is accepted', 404],
      ['forged PAT is refused', 401],
      ['missing PAT is refused', 401],
      ['unknown path is refused', 404],
      ['intent', 200],
    ]);
  }, 60_000);

  test('conforms to the specification', async () => {
    const { checks, left_behind } = await runConformance(api(), { adminToken, upstreamUrl: upstream.url });
    const missed = checks.filter(({ outcome }) => outcome !== 'passed');
    expect(missed.map(({ id, notes }) => [id, notes])).toEqual([]);
    expect(left_behind).toEqual([]);
  }, 300_000);

  test("answers the gateway's own refusals in the gate's form", async () => {
    const [unknownPath, wrongMethod] = [await call('GET', `${api()}/nothing/here`), await call('DELETE', `${api()}/api/services`)];
    expect([unknownPath.status, readError(unknownPath).code]).toEqual([404, 'NOT_FOUND']);
    expect([wrongMethod.status, readError(wrongMethod).code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(wrongMethod.headers.get('allow')).toBe('POST');
    // The emulator leaves $context.requestId of mock methods unfilled; AWS fills it in.
    expect(readError(wrongMethod).details?.request_id).toBe('$context.requestId');
  });

  test('serves the endpoints that the specification does not list', async () => {
    agent = await obtainNamedKey('deploy');
    pat = await requestPat();
    const { body } = await call('GET', `${api()}/api/intents/${smokeOptions.intentUid}?view=full`);
    const service = `/api/services/${(body as { service_id: string }).service_id}`;
    const execution = { intent_uid: smokeOptions.intentUid, parameters: smokeOptions.parameters };
    const callTool = (name: string, values: object) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: values },
    });
    const once = { 'Idempotency-Key': 'deploy-1' };
    const calls: [method: string, path: string, token: string, body?: object, headers?: Record<string, string>][] = [
      ['GET', '/agents.json', ''],
      ['GET', '/openapi.json', ''],
      ['GET', '/docs', ''],
      ['GET', `${service}/description`, ''],
      ['PUT', `${service}/credential`, adminToken, { header_name: 'Authorization', header_value: 'Bearer secret' }],
      ['POST', '/api/intents/execute', pat, execution, once],
      ['POST', '/api/intents/execute', pat, execution, once],
      ['POST', '/mcp', '', callTool('search_intents', { query: 'country' })],
      ['POST', '/mcp', '', callTool('get_intent', { intent_uid: smokeOptions.intentUid })],
      ['POST', '/mcp', '', callTool('execute_intent', { ...execution, pat })],
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

  test('keeps a snapshot of the search index', async () => {
    const [name] = Object.keys(((await askAccount('list')) as Account).functions).filter((found) => found.includes('snapshotsearchindex'));
    expect(await askAccount('invoke', name ?? '')).toMatchObject({ error: null });
  });

  test('applies a changed setting, and keeps data and PATs', async () => {
    agent = await obtainNamedKey('deploy');
    pat = await requestPat();
    expect(await getCountry(pat)).toMatchObject({ status: 200, body: { name: 'Switzerland' } });
    const keysBefore = await call('GET', `${api()}/.well-known/jwks.json`);

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

  test('deletes on request', async () => {
    const { body } = await call('GET', `${api()}/api/intents/world.example:get-country:v1?view=full`);
    const { service_id: serviceId } = body as { service_id: string };
    const authorization = { method: 'DELETE', headers: { Authorization: `Bearer ${adminToken}` } };
    expect((await fetch(`${api()}/api/intents/world.example:get-currency:v1`, authorization)).status).toBe(204);
    expect((await fetch(`${api()}/api/services/${serviceId}`, authorization)).status).toBe(204);
    expect(await getCountry(pat)).toMatchObject({ status: 404 });
  });

  test('grants each function what it used', async () => {
    const { functions } = (await askAccount('list')) as Account;
    for (const row of rows) {
      const [arn, role] = Object.entries(functions).find(([name]) => name.includes(`-${row.name.replaceAll('-', '')}Function`))?.[1] ?? [
        '',
        '',
      ];
      const calls = gateway.calls.filter(({ accessKeyId }) => accessKeyId === accessKeyOf(arn, role));
      const refused = new Set(calls.filter((made) => !isGranted(row, made)).map(describeCall));
      expect({ name: row.name, refused: [...refused] }).toEqual({ name: row.name, refused: [] });
    }
    expect(gateway.calls.length).toBeGreaterThan(100);
  });

  test('is destroyed without a trace', async () => {
    const context = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // AWS tags the bucket when it makes it; the emulator does not, and the CDK empties no bucket without the tag.
    const [bucket = ''] = ((await askAccount('list')) as Account).buckets.filter((name) => name.includes('snapshots'));
    await askAccount('tag-bucket', bucket, 'aws-cdk:auto-delete-objects');
    await cdk('destroy', '--force', '--output', join(folder, 'cdk.out'), ...context);
    expect(await askAccount('list')).toEqual(before);
  }, 300_000);
});
