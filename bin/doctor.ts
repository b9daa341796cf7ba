/** `npm run doctor [-- -c name=value]`: says in seconds what is missing to deploy, and the command for each. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3';
import { readPolicy } from '../lib/policy.ts';
import { readSettings, SettingsError } from '../lib/settings.ts';
import { type AccountFindings, diagnose } from './doctor/examine.ts';

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

function findCdkVersion(): string | undefined {
  try {
    return readJson('node_modules/aws-cdk/package.json').version;
  } catch {
    return undefined;
  }
}

function findSettingsProblem(given: Record<string, string>): string | undefined {
  try {
    readPolicy(readSettings({ ...readJson('cdk.json').context, ...given }));
    return undefined;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

/** The bootstrap makes a bucket of a known name. */
async function examineAccount(client: S3Client, region: string | undefined): Promise<AccountFindings> {
  try {
    await client.config.credentials();
  } catch {
    return { state: 'no credentials' };
  }
  try {
    const { Buckets = [] } = await client.send(new ListBucketsCommand({}), { abortSignal: AbortSignal.timeout(10_000) });
    return {
      state: 'known',
      isBootstrapped: Buckets.some(({ Name = '' }) => /^cdk-\w+-assets-/.test(Name) && Name.endsWith(`-${region}`)),
    };
  } catch (error) {
    const { name, $metadata } = error as { name: string; $metadata?: { httpStatusCode?: number } };
    if (name === 'AccessDenied') return { state: 'known', isBootstrapped: 'unknown' };
    return { state: $metadata?.httpStatusCode ? 'refused' : 'unreachable' };
  }
}

const { values } = parseArgs({ options: { context: { type: 'string', short: 'c', multiple: true, default: [] } } });
const client = new S3Client({ maxAttempts: 2, requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000 } });
const region = await client.config.region().catch(() => undefined);
const diagnoses = diagnose({
  nodeVersion: process.versions.node,
  cdkVersion: findCdkVersion(),
  wantedCdkVersion: readJson('package.json').devDependencies['aws-cdk'],
  settingsProblem: findSettingsProblem(Object.fromEntries(values.context.map((text) => text.split(/=(.*)/s).slice(0, 2)))),
  region,
  account: region === undefined ? { state: 'no credentials' } : await examineAccount(client, region),
});
for (const { subject, isWell, detail, remedy } of diagnoses) {
  console.log(`${isWell ? 'ok  ' : 'MISS'}  ${subject}: ${detail}${remedy ? `\n      -> ${remedy}` : ''}`);
}
const isReady = diagnoses.every(({ isWell }) => isWell);
console.log(isReady ? '\nReady: npx cdk deploy' : '\nNot ready yet.');
process.exitCode = isReady ? 0 : 1;
