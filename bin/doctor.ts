/** `npm run doctor [-- -c name=value]`: says in seconds what is missing to deploy, and the command for each. */
import { existsSync, readFileSync } from 'node:fs';
import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3';
import { readPolicy } from '../lib/policy.ts';
import { readSettings, type Settings, SettingsError } from '../lib/settings.ts';
import { examineAdopted } from './doctor/adopted.ts';
import { type AccountFindings, diagnose } from './doctor/examine.ts';
import { readOptions } from './options.ts';
import { readOutputs } from './outputs.ts';

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const cdk = 'node_modules/aws-cdk/package.json';

/** The settings, or what is wrong with them or with the policy. */
function findSettings(given: Record<string, string>): Settings | string {
  try {
    const settings = readSettings({ ...readJson('cdk.json').context, ...given });
    readPolicy(settings);
    return settings;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

const clientOptions = { maxAttempts: 2, requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000 } };

/** What AWS answers, or `unknown` if these credentials may not ask. */
async function ask<T>(question: Promise<T>): Promise<T | 'unknown'> {
  try {
    return await question;
  } catch (error) {
    if (/^AccessDenied/.test((error as Error).name)) return 'unknown';
    throw error;
  }
}

/** The bootstrap makes a bucket with a known name. */
async function examineAccount(client: S3Client, region: string | undefined, settings: Settings | string): Promise<AccountFindings> {
  try {
    await client.config.credentials();
  } catch {
    return { state: 'no credentials' };
  }
  const bounded = { abortSignal: AbortSignal.timeout(10_000) };
  try {
    const adopted = typeof settings === 'string' ? {} : (settings.adopt ?? {});
    const wantedPolicy = typeof settings === 'string' ? undefined : readOutputs(settings.stage)?.SigningKeyPolicy;
    const [listed, lambda, gateway, problems] = await Promise.all([
      ask(client.send(new ListBucketsCommand({}), bounded)),
      ask(new LambdaClient(clientOptions).send(new GetAccountSettingsCommand({}), bounded)),
      ask(new APIGatewayClient(clientOptions).send(new GetAccountCommand({}), bounded)),
      ask(examineAdopted(adopted, wantedPolicy, clientOptions)),
    ]);
    const isBootstrap = ({ Name = '' }) => /^cdk-\w+-assets-/.test(Name) && Name.endsWith(`-${region}`);
    return {
      state: 'known',
      isBootstrapped: listed === 'unknown' ? listed : (listed.Buckets ?? []).some(isBootstrap),
      unreservedConcurrency: lambda === 'unknown' ? lambda : (lambda.AccountLimit?.UnreservedConcurrentExecutions ?? 0),
      hasApiLogRole: gateway === 'unknown' ? gateway : gateway.cloudwatchRoleArn !== undefined,
      adopted: problems,
    };
  } catch (error) {
    const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
    return { state: $metadata?.httpStatusCode ? 'refused' : 'unreachable' };
  }
}

const values = readOptions(
  { context: { type: 'string', short: 'c', multiple: true, default: [] } },
  'npm run doctor -- [-c NAME=VALUE ...]',
);
const client = new S3Client(clientOptions);
const settings = findSettings(Object.fromEntries(values.context.map((text) => text.split(/=(.*)/s).slice(0, 2))));
const region = await client.config.region().catch(() => undefined);
const diagnoses = diagnose({
  nodeVersion: process.versions.node,
  cdkVersion: existsSync(cdk) ? readJson(cdk).version : undefined,
  wantedCdkVersion: readJson('package.json').dependencies['aws-cdk'],
  settings,
  region,
  account: region === undefined ? { state: 'no credentials' } : await examineAccount(client, region, settings),
});
for (const { subject, isWell, detail, remedy } of diagnoses) {
  console.log(`${isWell ? 'ok  ' : 'MISS'}  ${subject}: ${detail}${remedy ? `\n      -> ${remedy}` : ''}`);
}
const isReady = diagnoses.every(({ isWell }) => isWell);
const stage = typeof settings === 'string' ? '' : settings.stage;
console.log(isReady ? `\nReady: npm run deploy -- ${stage}` : '\nNot ready yet.');
process.exitCode = isReady ? 0 : 1;
