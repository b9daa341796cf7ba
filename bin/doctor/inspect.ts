import { existsSync, readFileSync } from 'node:fs';
import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3';
import { openHttp } from '../../client/http.ts';
import { openRequestSigner } from '../../functions/core/aws/signed-request.ts';
import { readPolicy } from '../../lib/policy.ts';
import { describeUnknown, readSettings, requireDeployable, type Settings, SettingsError, stackNameOf } from '../../lib/settings.ts';
import { awsAgents } from '../aws-agents.ts';
import { readOutputs } from '../outputs.ts';
import { examineAdopted, findLeftKeys } from './adopted.ts';
import type { AccountFindings, Findings } from './examine.ts';

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const cdk = 'node_modules/aws-cdk/package.json';

/** @returns the settings, or what is wrong with them */
export function findSettings(given: Record<string, string>): Settings | string {
  try {
    const settings = readSettings({ ...readJson('cdk.json').context, ...given });
    const mistake = describeUnknown(Object.keys(given));
    if (mistake !== undefined) return mistake;
    requireDeployable(settings);
    readPolicy(settings);
    return settings;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

const clientOptions = { maxAttempts: 2, requestHandler: { ...awsAgents, connectionTimeout: 3_000, requestTimeout: 5_000 } };

async function ask<T>(question: Promise<T>): Promise<T | 'unknown'> {
  try {
    return await question;
  } catch (error) {
    if (/^AccessDenied/.test((error as Error).name)) return 'unknown';
    throw error;
  }
}

/** Whether a stage is deployed. After a failed creation it counts as absent, because the next deployment creates it again. */
async function findStack(client: S3Client, region: string, stage: string): Promise<'present' | 'absent' | 'unknown'> {
  const query = new URLSearchParams({ Action: 'DescribeStacks', Version: '2010-05-15', StackName: stackNameOf(stage) });
  const url = new URL(
    `${process.env.AWS_ENDPOINT_URL ?? `https://cloudformation.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`}/?${query}`,
  );
  const sign = openRequestSigner({ service: 'cloudformation', region, credentials: client.config.credentials });
  const { host: _, ...signed } = (await sign({ method: 'GET', url, headers: {}, body: '' })).headers;
  const headers = { ...signed, Accept: 'text/xml' };
  const { status, text } = await openHttp({ url: url.origin, timeoutMs: 5_000 }).exchange('GET', url.pathname + url.search, { headers });
  if (status !== 200) return text.includes('does not exist') ? 'absent' : 'unknown';
  return /<StackStatus>(ROLLBACK_|CREATE_FAILED|REVIEW_IN_PROGRESS|DELETE_)/.test(text) ? 'absent' : 'present';
}

/** Examines the account. It is bootstrapped if a bucket with a known name exists. */
async function examineAccount(client: S3Client, region: string, settings: Settings | string): Promise<AccountFindings> {
  try {
    await client.config.credentials();
  } catch {
    return { state: 'no credentials' };
  }
  const bounded = { abortSignal: AbortSignal.timeout(10_000) };
  try {
    const adopted = typeof settings === 'string' ? {} : (settings.adopt ?? {});
    const outputs = typeof settings === 'string' ? undefined : readOutputs(settings.stage);
    const [stack, listed, lambda, gateway, problems] = await Promise.all([
      typeof settings === 'string' ? ('unknown' as const) : findStack(client, region, settings.stage),
      ask(client.send(new ListBucketsCommand({}), bounded)),
      ask(new LambdaClient(clientOptions).send(new GetAccountSettingsCommand({}), bounded)),
      ask(new APIGatewayClient(clientOptions).send(new GetAccountCommand({}), bounded)),
      ask(examineAdopted(adopted, outputs, clientOptions)),
    ]);
    const left = stack === 'absent' && typeof settings !== 'string' ? await ask(findLeftKeys(settings, clientOptions)) : [];
    const isBootstrap = ({ Name = '' }) => /^cdk-\w+-assets-/.test(Name) && Name.endsWith(`-${region}`);
    return {
      state: 'known',
      stack,
      isBootstrapped: listed === 'unknown' ? listed : (listed.Buckets ?? []).some(isBootstrap),
      unreservedConcurrency: lambda === 'unknown' ? lambda : (lambda.AccountLimit?.UnreservedConcurrentExecutions ?? 0),
      hasApiLogRole: gateway === 'unknown' ? gateway : gateway.cloudwatchRoleArn !== undefined,
      adopted: problems === 'unknown' || left === 'unknown' ? 'unknown' : [...problems, ...left],
    };
  } catch (error) {
    const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
    return { state: $metadata?.httpStatusCode ? 'refused' : 'unreachable' };
  }
}

export async function inspect(given: Record<string, string>): Promise<Findings & { settings: Settings | string }> {
  const client = new S3Client(clientOptions);
  const settings = findSettings(given);
  const region = await client.config.region().catch(() => undefined);
  return {
    nodeVersion: process.versions.node,
    cdkVersion: existsSync(cdk) ? readJson(cdk).version : undefined,
    wantedCdkVersion: readJson('package.json').dependencies['aws-cdk'],
    settings,
    region,
    account: region === undefined ? { state: 'no credentials' } : await examineAccount(client, region, settings),
  };
}
