import { globSync, readFileSync } from 'node:fs';

/** What a deployment says about itself, by the names in `lib/stack.ts`. */
export type Outputs = Record<string, string>;

/** The file that holds the outputs of a stage's last deployment from this folder. The CDK writes a file anew, so each stage has its own. */
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

/** The outputs of every stage that was deployed from this folder. A file that is no JSON is left out. */
export const readAllOutputs = (): Outputs[] =>
  globSync(outputsFile('*')).flatMap((file) => {
    try {
      return [readFile(file)];
    } catch {
      return [];
    }
  });
