import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { readSettings } from '../../lib/settings.ts';
import { IntentGate } from '../../lib/stack.ts';

export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template's properties have no one type
  Properties: Record<string, any>;
  DeletionPolicy?: string;
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

/** Synthesizes the app with settings, as `bin/app.ts` does, but without bundles. Throws where cdk-nag finds anything. */
export function synthesize(settings: Record<string, unknown> = {}): Synthesis {
  const outdir = mkdtempSync(join(tmpdir(), 'synth-'));
  try {
    const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
    const app = new App({ outdir, context: { ...context, ...settings, 'aws:cdk:bundling-stacks': [] } });
    const stack = new IntentGate(app, 'IntentGate', readSettings(app.node.getAllContext()));
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
    const { template } = app.synth().getStackArtifact(stack.artifactId) as { template: Template };
    const resources = (type: string) => Object.fromEntries(Object.entries(template.Resources).filter(([, { Type }]) => Type === type));
    const only = (type: string) => {
      const [first, ...more] = Object.values(resources(type));
      if (!first || more.length > 0) throw new Error(`${type}: ${more.length + 1} in place of one`);
      return first;
    };
    return { template, resources, only };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** The construct path's part after the stack: `get-policy` of `IntentGate/get-policy/Function/Resource`. */
export const logicalPrefix = (name: string): string => name.replaceAll('-', '');
