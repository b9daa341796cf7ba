/** `npm run cost [-- -c name=value] [--assume name=value] [--json | --write]`: prints the monthly cost of a deployment by part. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { StartError } from '../bin/local/data-folder.ts';
import { synthesize } from '../bin/local/synthesis.ts';
import { addPair, settingOption } from '../bin/options.ts';
import { describeChanges, describeUnknown, readSettings } from '../lib/settings.ts';
import { readUsage, usualUsage } from './cost/assumptions.ts';
import { type Deployment, readDeployment } from './cost/deployment.ts';
import { costOf, renderCost, renderPage } from './cost/render.ts';

const values = new Command('npm run cost --')
  .description('Print the monthly cost of a deployment by part')
  .addOption(settingOption)
  .option('--assume <name=value>', 'an assumption about usage, as in docs/cost.md; repeatable', addPair)
  .option('--json', 'print the result as JSON')
  .option('--write', 'write docs/cost.md, which has the default settings')
  .showHelpAfterError()
  .parse()
  .opts();
const { assume = {} } = values;

async function readTemplate(context: Record<string, unknown>): Promise<Deployment> {
  const folder = await synthesize({ ...context, 'aws:cdk:bundling-stacks': [] });
  return readDeployment(JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8')).Resources);
}

/** Writes docs/cost.md for the default settings, ignoring the stages in this checkout. */
async function writePage(): Promise<void> {
  writeFileSync('docs/cost.md', renderPage(await readTemplate({ stages: {} })));
}

async function show(): Promise<void> {
  const unknown = describeUnknown(Object.keys(values.context));
  if (unknown !== undefined) throw new StartError(unknown);
  const usage = readUsage(assume);
  const deployment = await readTemplate(values.context);
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
  const settings = describeChanges(readSettings({ ...context, ...values.context }));
  const assumptions = Object.entries(assume).map(([name, value]) => `${name}=${value}`);
  const assumed = assumptions.length > 0 ? `, assuming ${assumptions.join(', ')}` : '';
  if (values.json)
    console.log(JSON.stringify({ settings, assumed: { ...usualUsage, ...usage }, months: costOf(deployment, usage) }, null, 2));
  else console.log(renderCost(deployment, `${settings}${assumed}`, usage));
}

try {
  const isPlain = Object.keys({ ...values.context, ...assume }).length === 0 && !values.json;
  if (values.write && !isPlain)
    throw new StartError('docs/cost.md is for the default settings. Use --write without -c, --assume and --json.');
  await (values.write ? writePage() : show());
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
