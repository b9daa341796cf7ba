/**
 * Prints what cdk-nag and CloudFormation's own rules find, with which `bin/app.ts` refuses to synthesize: a list for each of the settings
 * that are given as JSON. A separate program, because these rules take much longer inside Jest.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './synthesize.ts';

interface Report {
  violations: object[];
}

const check = (settings: Record<string, unknown>): unknown[] => {
  try {
    return run(settings, true, (_, { directory }) => {
      const { pluginReports } = JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8'));
      return pluginReports.flatMap(({ violations }: Report) => violations);
    });
  } catch (error) {
    return [String(error)];
  }
};

console.log(JSON.stringify(JSON.parse(process.argv[2] ?? '[]').map(check)));
