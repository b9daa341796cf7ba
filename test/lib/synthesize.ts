import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { readSettings } from '../../lib/settings.ts';
import { IntentGateStack } from '../../lib/stack.ts';

/** Not used: nothing is bundled. */
const refuse = (): never => {
  throw new TypeError('bundles and pages are built only if functions are bundled');
};

export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template's properties have no one type
  Properties: Record<string, any>;
  DeletionPolicy?: string;
  DependsOn?: string[];
  // biome-ignore lint/suspicious/noExplicitAny: as the properties
  UpdatePolicy?: Record<string, any>;
}

export interface Template {
  Resources: Record<string, Resource>;
  Outputs: Record<string, { Value: unknown }>;
  Rules?: Record<string, unknown>;
}

export interface Synthesis {
  template: Template;
  stack: IntentGateStack;
  /** violations of the rules of cdk-nag and CloudFormation, if applied */
  violations: object[];
  /** the resources of a type, by logical id */
  resources(type: string): Record<string, Resource>;
  /** the only resource of a type */
  only(type: string): Resource;
}

const made = new Map<string, Synthesis>();

/**
 * Synthesizes the app with settings, without bundles, once per test file.
 * @param isChecked - whether to apply cdk-nag and CloudFormation's own rules, which takes seconds
 */
export function synthesize(settings: Record<string, unknown> = {}, isChecked = false): Synthesis {
  const key = JSON.stringify(settings);
  const synthesis = made.get(key) ?? run(settings, isChecked);
  made.set(key, synthesis);
  return synthesis;
}

function run(settings: Record<string, unknown>, isChecked: boolean): Synthesis {
  process.env.CDK_VALIDATION = String(isChecked);
  const outdir = mkdtempSync(join(tmpdir(), 'synth-'));
  try {
    const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
    const app = new App({ outdir, context: { ...context, ...settings, 'aws:cdk:bundling-stacks': [] } });
    const stack = new IntentGateStack(app, 'IntentGate', readSettings(app.node.getAllContext()), {
      bundle: refuse,
      buildPages: refuse,
    });
    if (isChecked) Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
    const { template } = app.synth().getStackArtifact(stack.artifactId) as { template: Template };
    const reports = isChecked ? JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')).pluginReports : [];
    const resources = (type: string) => Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type === type));
    const only = (type: string) => {
      const [first, ...more] = Object.values(resources(type));
      if (!first || more.length > 0) throw new Error(`${type}: ${more.length + 1} in place of one`);
      return first;
    };
    return { template, stack, violations: reports.flatMap((report: { violations: object[] }) => report.violations), resources, only };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** The construct path's part after the stack: `get-policy` of `IntentGate/get-policy/Function/Resource`. */
export const logicalPrefix = (name: string): string => name.replaceAll('-', '');
