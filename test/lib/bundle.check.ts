import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from '@jest/globals';
import { localContext, synthesize } from '../../bin/local/synthesis.ts';
import { bundleOf, readTemplate } from '../../bin/local/template.ts';
import { bundleFunctions } from '../../lib/bundle.ts';
import { backgroundFunctions, endpoints, hasFunction } from '../../lib/endpoints.ts';
import { makeFolder } from '../support/folder.ts';
import { logicalPrefix, type Template } from './synthesize.ts';

const rows = [...endpoints.filter(hasFunction), ...backgroundFunctions];
const notify = { url: 'https://hooks.example', secret: 'webhook' };
const folder = await synthesize({ ...localContext, policyFile: 'bin/local/policy.json', agentIds: 'bound', notify });
const local = readTemplate(folder);
const { Resources }: Template = JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8'));

const bundle = (name: string): string => bundleOf(local, folder, name);

/** Loads a bundle in a thread that has only the environment in the template; returns the error if that fails. */
async function load(name: string): Promise<string> {
  const [, found] = Object.entries(Resources).find(([id]) => id.startsWith(`${logicalPrefix(name)}Function`)) ?? [];
  const given = Object.entries(found?.Properties.Environment.Variables).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : 'eu-west-1_Reference',
  ]);
  const worker = new Worker(
    `import(require('node:url').pathToFileURL(require('node:worker_threads').workerData).href)
       .then(({ handler }) => require('node:worker_threads').parentPort.postMessage(typeof handler),
             (error) => require('node:worker_threads').parentPort.postMessage(String(error)))`,
    { eval: true, workerData: bundle(name), env: { ...Object.fromEntries(given), AWS_REGION: 'eu-west-1' }, execArgv: [] },
  );
  try {
    return await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  } finally {
    await worker.terminate();
  }
}

/** Sizes in thousands of bytes, a little above today's, so that a change which adds a library is noticed; 480 for all others. */
const sizes: Record<string, number> = {
  mcp: 1_000,
  'execute-intent': 750,
  'get-own-description': 700,
  'search-intents': 700,
  'get-execution': 620,
  'get-intent': 620,
  'run-deferred-call': 600,
  'snapshot-search-index': 580,
  'decide-approval': 580,
  'get-proof': 570,
  'get-log': 570,
  'sequence-receipts': 550,
  'change-intents': 550,
  'issue-pat': 530,
  'issue-token': 510,
  'end-connection': 500,
  'finish-connection': 500,
  'get-openapi': 40,
  'get-docs-asset': 40,
  'get-api-catalog': 40,
};

describe.each(rows)('the bundle of $name', ({ name, needs }) => {
  test('a bundle starts with the environment that the template gives it', async () => {
    expect(await load(name)).toBe('function');
  });

  test('a bundle is no larger than its code, and has no client and no policy that it does not use', () => {
    expect(statSync(bundle(name)).size / 1_000).toBeLessThanOrEqual(sizes[name] ?? 480);
    const text = readFileSync(bundle(name), 'utf8');
    expect({
      table: text.includes('DynamoDB_20120810'),
      kms: text.includes('TrentService'),
      snapshots: text.includes('S3Express'),
      credentials: text.includes('secretsmanager'),
      policy: existsSync(join(dirname(bundle(name)), 'policy.json')),
      // a sentence of the parser: policies are compiled when they are published
      parser: text.includes('must be execute or exceedRateLimit'),
    }).toEqual({
      table: needs.table !== undefined,
      kms: [needs.kms, needs.catalogue, needs.callKey, needs.grantKey, needs.receipts].some((need) => need !== undefined),
      snapshots: needs.snapshots !== undefined || ['log', 'read'].includes(needs.receipts ?? ''),
      credentials: needs.credentials !== undefined || needs.notifies === true,
      policy: needs.policy === true,
      parser: ['publish-policy', 'put-policy-trial'].includes(name),
    });
  });
});

const deployed = makeFolder();

test('only bundles of the local stack have source maps', () => {
  bundleFunctions(['get-jwks'], deployed);
  expect(readdirSync(join(deployed, 'get-jwks'))).toEqual(['index.cjs']);
  expect(readFileSync(join(deployed, 'get-jwks', 'index.cjs'), 'utf8')).not.toContain('sourceMappingURL');
  expect(readFileSync(`${bundle('get-jwks')}.map`, 'utf8')).toContain('functions/get-jwks.ts"');
});

test('bundles that compile patterns load the engine from beside them', () => {
  const names = rows.map(({ name }) => name).filter((name) => existsSync(join(dirname(bundle(name)), 'node_modules')));
  expect(names.sort()).toEqual(['change-intents', 'create-intent', 'execute-intent', 'mcp', 'run-deferred-call', 'update-intent']);
  for (const name of names)
    expect(createRequire(bundle(name)).resolve('re2js')).toBe(join(dirname(bundle(name)), 'node_modules', 're2js', 'index.js'));
  const program = `require('node:module').createRequire(${JSON.stringify(bundle('mcp'))})('re2js').RE2JS.compile('^(a+)+$').test('aaa')`;
  expect(spawnSync(process.execPath, ['--print', program], { encoding: 'utf8' }).stdout).toBe('true\n');
});

test('a failed synthesis says what is wrong, without a stack trace', () => {
  const outdir = mkdtempSync(join(tmpdir(), 'refused-'));
  const context = JSON.stringify({ stage: 'Dev', waf: 'perhaps' });
  const { status, stderr, stdout } = spawnSync(process.execPath, ['bin/app.ts'], {
    env: { ...process.env, NODE_OPTIONS: '', CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: context },
    encoding: 'utf8',
  });
  expect([status, stdout, existsSync(join(outdir, 'IntentGate.template.json'))]).toEqual([1, '', false]);
  expect(stderr).toMatch(
    /^The settings are not valid:\n {2}stage: must be one of the stages in cdk.json .*\n {2}stage: must be 1 to 20 .*\n {2}waf: must be true or false\n$/,
  );
  rmSync(outdir, { recursive: true });
});
