/** What `cdk synth` and `cdk deploy` run: settings -> stack. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { listAssets } from '../console/assets.ts';
import { buildPages } from '../console/pages.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { backgroundFunctions, backgroundWithCollection, endpoints, hasFunction } from '../lib/endpoints.ts';
import { warnOfPolicy } from '../lib/policy.ts';
import { describeDecisions, describeUnknown, readSettings, SettingsError } from '../lib/settings.ts';
import { IntentGateStack } from '../lib/stack.ts';

/** Bundles functions. The local stack keeps bundles of the same sources in the folder INTENT_GATE_BUNDLES, which is filled here if it does not exist. */
function bundle(names: readonly string[], folder: string): void {
  const { INTENT_GATE_BUNDLES: kept } = process.env;
  if (kept === undefined) {
    bundleFunctions(names, folder);
    return;
  }
  if (!existsSync(kept)) {
    const all = [...endpoints.filter(hasFunction), ...backgroundFunctions, ...backgroundWithCollection];
    bundleFunctions([...new Set(all.map(({ name }) => name))], kept);
  }
  for (const name of names) cpSync(join(kept, name), join(folder, name), { recursive: true });
}

try {
  // The feature flags also apply if the app is run without the CDK command line, which would pass them on.
  // Synthesized below only: left to itself, the app would write whatever it has when the process ends, even half a stack.
  const app = new App({ autoSynth: false, context: JSON.parse(readFileSync('cdk.json', 'utf8')).context });
  const context = app.node.getAllContext();
  const settings = readSettings(context);
  const stack = new IntentGateStack(app, 'IntentGate', settings, {
    bundle,
    buildPages: (protocol) => buildPages(protocol, listAssets()),
  });
  // not refused: the key may be another tool's, in a file of the user
  const unknown = describeUnknown(Object.keys(context));
  const warnings = [...(unknown === undefined ? [] : [unknown]), ...warnOfPolicy(settings)];
  for (const line of [describeDecisions(settings), ...warnings.map((problem) => `Warning: ${problem}`)]) console.error(line);
  // CloudFormation's own rules take longer than everything else, and the local stage is never deployed.
  if (settings.stage === 'local') process.env.CDK_VALIDATION = 'false';
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  const { template } = app.synth().getStackArtifact(stack.artifactId);
  console.error(`${Object.keys(template.Resources).length} resources, of 500 that CloudFormation allows.`);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
