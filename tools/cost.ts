/** `npm run cost [-- -c name=value] [--assume name=value] [--json | --write]`: prints the monthly cost of a deployment by part. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../bin/local/data-folder.ts';
import { synthesize } from '../bin/local/synthesis.ts';
import { readOptions, readPairs } from '../bin/options.ts';
import { describeChanges, describeSettings, readSettings } from '../lib/settings.ts';
import { readUsage, usualUsage } from './cost/assumptions.ts';
import { type Deployment, readDeployment } from './cost/deployment.ts';
import { costOf, renderCost, renderPage } from './cost/render.ts';

const values = readOptions(
  {
    context: { type: 'string', short: 'c', multiple: true, default: [] },
    assume: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  'npm run cost -- [-c NAME=VALUE ...] [--assume NAME=VALUE ...] [--json | --write]',
);

async function readTemplate(context: Record<string, unknown>): Promise<Deployment> {
  const folder = await synthesize({ ...context, 'aws:cdk:bundling-stacks': [] });
  return readDeployment(JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8')).Resources);
}

/** Writes docs/cost.md for the default settings, ignoring the stages in this checkout. */
async function writePage(): Promise<void> {
  writeFileSync('docs/cost.md', renderPage(await readTemplate({ stages: {} })));
}

async function show(): Promise<void> {
  const given = readPairs(values.context);
  const names = describeSettings().map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new StartError(`-c ${unknown}: is not a setting. docs/reference.md lists all settings.`);
  const usage = readUsage(readPairs(values.assume));
  const deployment = await readTemplate(given);
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
  const settings = describeChanges(readSettings({ ...context, ...given }));
  const assumed = values.assume.length > 0 ? `, assuming ${values.assume.join(', ')}` : '';
  if (values.json)
    console.log(JSON.stringify({ settings, assumed: { ...usualUsage, ...usage }, months: costOf(deployment, usage) }, null, 2));
  else console.log(renderCost(deployment, `${settings}${assumed}`, usage));
}

try {
  const isPlain = values.context.length === 0 && values.assume.length === 0 && !values.json;
  if (values.write && !isPlain)
    throw new StartError('docs/cost.md is for the default settings. Use --write without -c, --assume and --json.');
  await (values.write ? writePage() : show());
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
