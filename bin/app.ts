/** What `cdk synth` and `cdk deploy` run: settings -> stack. */
import { readFileSync } from 'node:fs';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { describeDecisions, readSettings, SettingsError } from '../lib/settings.ts';
import { IntentGate } from '../lib/stack.ts';

try {
  // The feature flags hold also where the app is run without the CDK command line, which passes them on.
  // Synthesized below and nowhere else: by itself the app would write what it has when the process ends, also half a stack.
  const app = new App({ autoSynth: false, context: JSON.parse(readFileSync('cdk.json', 'utf8')).context });
  const settings = readSettings(app.node.getAllContext());
  new IntentGate(app, 'IntentGate', settings);
  console.error(describeDecisions(settings));
  // CloudFormation's own rules take twice as long as all the rest, and the local stage is deployed nowhere.
  if (settings.stage === 'local') process.env.CDK_VALIDATION = 'false';
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  app.synth();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
