/** The CDK app that `cdk synth` and `cdk deploy` run. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { listAssets } from '../console/assets.ts';
import { buildPages } from '../console/pages.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { functionNames } from '../lib/endpoints.ts';
import { warnOfPolicy } from '../lib/policy.ts';
import { describeDecisions, describeUnknown, readSettings, requireDeployable, SettingsError, warnOfRates } from '../lib/settings.ts';
import { IntentGateStack } from '../lib/stack.ts';

/**
 * Bundles functions. With INTENT_GATE_BUNDLES, a folder where the local stack caches bundles with source maps, copies them from there, creating it if
 * necessary.
 */
function bundle(names: readonly string[], folder: string): void {
  const { INTENT_GATE_BUNDLES: kept } = process.env;
  if (kept === undefined) {
    bundleFunctions(names, folder);
    return;
  }
  if (!existsSync(kept)) bundleFunctions(functionNames(), kept, true);
  for (const name of names) cpSync(join(kept, name), join(folder, name), { recursive: true });
}

try {
  // `context` passes the feature flags when the app runs without the CDK command line.
  // `autoSynth` would write an incomplete stack if the process ended early.
  const app = new App({ autoSynth: false, context: JSON.parse(readFileSync('cdk.json', 'utf8')).context });
  const context = app.node.getAllContext();
  const settings = readSettings(context);
  requireDeployable(settings);
  const stack = new IntentGateStack(app, 'IntentGate', settings, {
    bundle,
    buildPages: (protocol) => buildPages(protocol, listAssets()),
  });
  // only a warning: another tool may have put the key into a file of the user's
  const unknown = describeUnknown(Object.keys(context));
  const warnings = [...(unknown === undefined ? [] : [unknown]), ...warnOfRates(settings), ...warnOfPolicy(settings)];
  for (const line of [describeDecisions(settings), ...warnings.map((problem) => `Warning: ${problem}`)]) console.error(line);
  // CloudFormation's rules take longer than everything else, and the local stage is never deployed.
  if (settings.stage === 'local') process.env.CDK_VALIDATION = 'false';
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  const { template } = app.synth().getStackArtifact(stack.artifactId);
  console.error(`${Object.keys(template.Resources).length} resources, of 500 that CloudFormation allows.`);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
