/** `npm run doctor [-- -c name=value]`: lists unmet requirements of a deployment, with the commands that fix them. */
import { Command } from '@commander-js/extra-typings';
import { conclude, describe, diagnose, isReady } from './doctor/examine.ts';
import { inspect } from './doctor/inspect.ts';
import { settingOption } from './options.ts';

const program = new Command('npm run doctor --')
  .description('List the unmet requirements of a deployment, with the commands that fix them')
  .addOption(settingOption)
  .showHelpAfterError();
const findings = await inspect(program.parse().opts().context);
const diagnoses = diagnose(findings);
for (const diagnosis of diagnoses) console.log(describe(diagnosis));
const { settings } = findings;
console.log(`\n${conclude(diagnoses, typeof settings === 'string' ? '' : settings.stage)}`);
process.exitCode = isReady(diagnoses) ? 0 : 1;
