import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from '@jest/globals';
import { synthesize } from '../../bin/local/synthesis.ts';
import { bundleOf, readTemplate } from '../../bin/local/template.ts';
import { backgroundFunctions, endpoints, hasFunction } from '../../lib/endpoints.ts';
import { logicalPrefix, type Resource, type Template } from './synthesize.ts';

const rows = [...endpoints.filter(hasFunction), ...backgroundFunctions];
const folder = await synthesize({ signIn: true, publicBaseUrl: 'https://gate.example' });

const bundle = (name: string): string => bundleOf(readTemplate(folder), folder, name);

/** Runs the app as `cdk synth` does, except for CloudFormation's own rules, which template.check.ts checks. */
const synthesizeApp = (outdir: string, context: Record<string, unknown> = {}) =>
  spawnSync(process.execPath, ['bin/app.ts'], {
    env: { ...process.env, NODE_OPTIONS: '', CDK_VALIDATION: 'false', CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: JSON.stringify(context) },
    encoding: 'utf8',
  });

const template: Template = JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8'));

function functionResource(name: string): Resource {
  const isWanted = ([id, { Type }]: [string, Resource]) =>
    Type === 'AWS::Lambda::Function' && id.startsWith(`${logicalPrefix(name)}Function`);
  const found = Object.entries(template.Resources).find(isWanted);
  if (!found) throw new Error(`no function ${name}`);
  return found[1];
}

/** Loads a bundle in a thread that has the environment of the template and nothing else; returns the error if that fails. */
async function load(name: string): Promise<string> {
  const { Environment } = functionResource(name).Properties;
  const given = Object.entries(Environment.Variables).map(([key, value]) => [
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

test.each(rows)('$name starts with the environment that the template gives it', async ({ name }) => {
  expect(await load(name)).toBe('function');
});

describe('bundles', () => {
  /** Sizes in thousands of bytes: the exceptions, and why. */
  const budgets: Record<string, number> = {
    // the clients of DynamoDB and Secrets Manager, and the validation of parameters
    'execute-intent': 560,
    // the same, without the verification of PATs
    'run-deferred-call': 460,
    // all that agents can do, and the protocol
    mcp: 720,
  };

  test.each(rows)('$name is small', ({ name }) => {
    expect(statSync(bundle(name)).size / 1_000).toBeLessThanOrEqual(budgets[name] ?? 400);
  });

  test('that compile patterns have the engine beside them, and it is loaded from there', () => {
    const names = rows.map(({ name }) => name).filter((name) => existsSync(join(dirname(bundle(name)), 'node_modules')));
    expect(names.sort()).toEqual(['change-intents', 'create-intent', 'execute-intent', 'mcp', 'run-deferred-call', 'update-intent']);
    for (const name of names) {
      expect(createRequire(bundle(name)).resolve('re2js')).toBe(join(dirname(bundle(name)), 'node_modules', 're2js', 'index.js'));
      const program = `require('node:module').createRequire(${JSON.stringify(bundle(name))})('re2js').RE2JS.compile('^(a+)+$').test('aaa')`;
      expect(spawnSync(process.execPath, ['--print', program], { encoding: 'utf8' }).stdout).toBe('true\n');
    }
  });

  test.each(rows)('$name contains no client that it does not use', ({ name, needs }) => {
    const text = readFileSync(bundle(name), 'utf8');
    const held = {
      table: text.includes('DynamoDB_20120810'),
      kms: text.includes('TrentService'),
      snapshots: text.includes('S3 answered GetObject') || text.includes('S3Express'),
      credentials: text.includes('secretsmanager'),
    };
    expect(held).toEqual({
      table: needs.table !== undefined,
      kms: needs.kms !== undefined || needs.callKey === true || needs.receipts !== undefined,
      snapshots: needs.snapshots !== undefined || ['log', 'read'].includes(needs.receipts ?? ''),
      credentials: needs.credentials !== undefined,
    });
  });

  test.each(rows)('the policy is beside $name exactly if it needs it', ({ name, needs }) => {
    expect(existsSync(join(dirname(bundle(name)), 'policy.json'))).toBe(needs.policy === true);
  });
});

describe('a synthesis that cannot be', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'settings',
      { stage: 'Dev', waf: 'perhaps' },
      /^The settings are not valid:\n {2}stage: must be one of the stages in cdk.json .*\n {2}stage: must be 1 to 20 .*\n {2}waf: must be true or false\n$/,
    ],
    ['a missing policy', { policyFile: 'nowhere.json' }, /^policyFile: nowhere\.json cannot be read\n$/],
    ['a missing policy on trial', { tryPolicyFile: 'nowhere.json' }, /^tryPolicyFile: nowhere\.json cannot be read\n$/],
    ['a policy on trial that is none', { tryPolicyFile: 'package.json' }, /^package\.json: the policy cannot be put into effect:\n {2}\//],
    ['a policy that is none', { policyFile: 'package.json' }, /^package\.json: the policy cannot be put into effect:\n {2}\//],
    ['a policy that is not JSON', { policyFile: 'README.md' }, /^README\.md: the policy cannot be put into effect:\n {2}\/ must be JSON/],
  ])('says what is wrong with %s, without a stack', (_, context, message) => {
    const outdir = mkdtempSync(join(tmpdir(), 'refused-'));
    const { status, stderr, stdout } = synthesizeApp(outdir, context);
    expect([status, stdout, existsSync(join(outdir, 'IntentGate.template.json'))]).toEqual([1, '', false]);
    expect(stderr).toMatch(message);
    rmSync(outdir, { recursive: true });
  });
});
