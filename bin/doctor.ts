/** `npm run doctor [-- -c name=value]`: lists what is missing for a deployment, with the command that fixes it. */
import { describe, diagnose } from './doctor/examine.ts';
import { inspect } from './doctor/inspect.ts';
import { readOptions } from './options.ts';

const values = readOptions(
  { context: { type: 'string', short: 'c', multiple: true, default: [] } },
  'npm run doctor -- [-c NAME=VALUE ...]',
);
const findings = await inspect(Object.fromEntries(values.context.map((text) => text.split(/=(.*)/s).slice(0, 2))));
const diagnoses = diagnose(findings);
for (const diagnosis of diagnoses) console.log(describe(diagnosis));
const isReady = diagnoses.every(({ isWell }) => isWell);
const { settings } = findings;
console.log(isReady ? `\nReady: npm run deploy -- ${typeof settings === 'string' ? '' : settings.stage}` : '\nNot ready to deploy.');
process.exitCode = isReady ? 0 : 1;
