import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CfnRule, Fn, Stack, Stage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FileContext, Files } from './build.ts';
import type { Needs } from './endpoints/needs.ts';
import { featureStacks } from './feature-stacks.ts';
import { compilePolicyFile } from './policy.ts';

interface FunctionRow {
  name: string;
  needs: Needs;
}

/**
 * Prepares the code of functions beside the template, unless this synthesis omits bundling (context `aws:cdk:bundling-stacks`).
 * @param name - of the gate
 * @returns a lookup by the names of rows
 */
export function prepareCode(scope: Construct, name: string, rows: readonly FunctionRow[], context: FileContext): (row: string) => Code {
  if (!Stack.of(scope).bundlingRequired) return refuseDeployment(scope);
  const folder = join(Stage.of(scope)?.outdir ?? 'cdk.out', 'dist', name);
  writeFunctions(rows, folder, context);
  return (row) => Code.fromAsset(join(folder, row));
}

/** `cdk ls` and `cdk bootstrap` synthesize without code. This rule makes CloudFormation refuse to deploy such a template. */
function refuseDeployment(scope: Construct): () => Code {
  new CfnRule(scope, 'HasCode', {
    assertions: [
      {
        assert: Fn.conditionEquals('synthesized without code', 'deployable'),
        assertDescription:
          'This template was synthesized without the code of its functions. Run "npx cdk deploy", which synthesizes it anew.',
      },
    ],
  });
  return () => Code.fromInline('// synthesized without code');
}

/**
 * Writes the deployment package of each function: its bundle and the files beside it.
 * @param folder - gets one folder for each function; replaced as a whole
 */
function writeFunctions(rows: readonly FunctionRow[], folder: string, context: FileContext): void {
  rmSync(folder, { recursive: true, force: true });
  context.build.bundle(
    rows.map(({ name }) => name),
    folder,
  );
  const filesOf = prepareFiles(context);
  for (const { name, needs } of rows) {
    for (const [path, content] of Object.entries(filesOf(needs))) {
      mkdirSync(dirname(join(folder, name, path)), { recursive: true });
      writeFileSync(join(folder, name, path), content);
    }
  }
}

/** @returns a lookup of the files that a function reads beside its bundle */
export function prepareFiles(context: FileContext): (needs: Needs) => Files {
  const { policy, settings, build } = context;
  const compiled = compilePolicyFile(policy, settings);
  const vectors = { 'word-vectors.bin': readFileSync(build.wordVectors) };
  const ofFeatures = featureStacks.flatMap((feature) => feature.files?.(context) ?? []);
  return (needs) => ({
    ...(needs.policy && { 'policy.json': compiled }),
    ...(needs.wordVectors && vectors),
    ...Object.assign({}, ...ofFeatures.map((filesOf) => filesOf(needs))),
  });
}
