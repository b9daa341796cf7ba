/** `npm run doctor [-- -c name=value]`: lists unmet requirements of a deployment, with the commands that fix them. */
import { conclude, describe, diagnose, isReady } from './doctor/examine.ts';
import { inspect } from './doctor/inspect.ts';
import { readOptions, readPairs } from './options.ts';

const values = readOptions(
  { context: { type: 'string', short: 'c', multiple: true, default: [] } },
  'npm run doctor -- [-c NAME=VALUE ...]',
);
const findings = await inspect(readPairs(values.context));
const diagnoses = diagnose(findings);
for (const diagnosis of diagnoses) console.log(describe(diagnosis));
const { settings } = findings;
console.log(`\n${conclude(diagnoses, typeof settings === 'string' ? '' : settings.stage)}`);
process.exitCode = isReady(diagnoses) ? 0 : 1;
