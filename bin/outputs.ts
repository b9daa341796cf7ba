import { globSync, readFileSync } from 'node:fs';

/** Outputs of a deployment, by the names in `lib/stack.ts`. */
export type Outputs = Record<string, string>;

/** One file per stage, because the CDK overwrites its file. */
export const outputsFile = (stage: string): string => `cdk-outputs.${stage}.json`;

const readFile = (file: string): Outputs => Object.assign({}, ...Object.values(JSON.parse(readFileSync(file, 'utf8'))));

/** The outputs of a stage; undefined if it was not deployed from this folder. */
export function readOutputs(stage: string): Outputs | undefined {
  try {
    return readFile(outputsFile(stage));
  } catch {
    return undefined;
  }
}

/** The outputs of all stages deployed from this folder; ignores invalid files. */
export const readAllOutputs = (): Outputs[] =>
  globSync(outputsFile('*')).flatMap((file) => {
    try {
      return [readFile(file)];
    } catch {
      return [];
    }
  });
