import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import type { CloudAssembly } from 'aws-cdk-lib/cx-api';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { readSettings } from '../../lib/settings.ts';
import { IntentGateStack } from '../../lib/stack.ts';

/** Nothing is bundled, so no pages are needed. */
const buildPages = (): never => {
  throw new TypeError('pages are built only for bundles');
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
  /** the resources of a type, by logical id */
  resources(type: string): Record<string, Resource>;
  /** the only resource of a type */
  only(type: string): Resource;
}

/**
 * Synthesizes the app with settings, without bundles, and reads the result.
 * @param isChecked - whether to apply cdk-nag and CloudFormation's own rules; loading the latter takes seconds
 */
export function run<T>(
  settings: Record<string, unknown>,
  isChecked: boolean,
  read: (stack: IntentGateStack, assembly: CloudAssembly) => T,
): T {
  process.env.CDK_VALIDATION = String(isChecked);
  const outdir = mkdtempSync(join(tmpdir(), 'synth-'));
  try {
    const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
    const app = new App({ outdir, context: { ...context, ...settings, 'aws:cdk:bundling-stacks': [] } });
    const stack = new IntentGateStack(app, 'IntentGate', readSettings(app.node.getAllContext()), buildPages);
    if (isChecked) Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
    return read(stack, app.synth());
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

const made = new Map<string, Synthesis>();

/** The unchecked synthesis with settings, made once a test file. */
export function synthesize(settings: Record<string, unknown> = {}): Synthesis {
  const key = JSON.stringify(settings);
  const synthesis = made.get(key) ?? run(settings, false, readSynthesis);
  made.set(key, synthesis);
  return synthesis;
}

function readSynthesis(stack: IntentGateStack, assembly: CloudAssembly): Synthesis {
  const { template } = assembly.getStackArtifact(stack.artifactId) as { template: Template };
  const resources = (type: string) => Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type === type));
  const only = (type: string) => {
    const [first, ...more] = Object.values(resources(type));
    if (!first || more.length > 0) throw new Error(`${type}: ${more.length + 1} in place of one`);
    return first;
  };
  return { template, resources, only };
}

/** The construct path's part after the stack: `get-policy` of `IntentGate/get-policy/Function/Resource`. */
export const logicalPrefix = (name: string): string => name.replaceAll('-', '');
