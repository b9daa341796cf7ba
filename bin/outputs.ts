import { globSync, readFileSync } from 'node:fs';

/** Outputs of a deployment, by the names in `lib/stack.ts`. */
export type Outputs = Record<string, string>;

/** One file per stage, because the CDK overwrites its file. */
export const outputsFile = (stage: string): string => `cdk-outputs.${stage}.json`;

function readFile(file: string): Outputs | undefined {
  try {
    return Object.assign({}, ...Object.values(JSON.parse(readFileSync(file, 'utf8'))));
  } catch {
    return undefined;
  }
}

/** The outputs of a stage; undefined if it was not deployed from this folder. */
export const readOutputs = (stage: string): Outputs | undefined => readFile(outputsFile(stage));

/** The outputs of all stages deployed from this folder; ignores invalid files. */
export const readAllOutputs = (): Outputs[] =>
  globSync(outputsFile('*'))
    .map(readFile)
    .filter((outputs) => outputs !== undefined);
