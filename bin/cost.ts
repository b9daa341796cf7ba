/** `npm run cost [-- --write] [-- -c name=value]`: what a deployment costs a month, by part. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readDeployment } from './cost/estimate.ts';
import { renderCost } from './cost/render.ts';
import { synthesize } from './local/synthesis.ts';

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, context: { type: 'string', short: 'c', multiple: true, default: [] } },
});
const settings = Object.fromEntries(values.context.map((text) => text.split(/=(.*)/s).slice(0, 2)));
const folder = await synthesize({ ...settings, 'aws:cdk:bundling-stacks': [] });
const { Resources } = JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8'));
const text = renderCost(readDeployment(Resources));
if (values.write) writeFileSync('docs/cost.md', text);
else console.log(text);
