import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { CliFailure } from '../../../registry/failure.ts';
import { readRegistry, writeWhole } from '../../../registry/files.ts';
import { listServices } from '../../../registry/read.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { foldName } from '../../../schemas/text.ts';
import { type CliContext, openContext } from '../context.ts';
import { writePython } from '../declarations/python.ts';
import { writeTypeScript } from '../declarations/typescript.ts';
import { plural, writeOut } from '../terminal.ts';
import { readServices } from './registry.ts';

export function addTypes(program: CommandUnknownOpts): void {
  program
    .command('types [file]')
    .description(
      'Generate type declarations for the intents of the gate, or of a registry file or folder, with which compilers and editors check uids, parameters and responses',
    )
    .option('--service <service...>', 'only these services, by service_id (gates only) or name')
    .addOption(
      new Option('--language <language>', 'language of the client')
        .choices(['typescript', 'python'] as const)
        .default('typescript' as const),
    )
    .option('--module <name>', 'module from which the TypeScript program imports the client', 'intent-gate-client')
    .option('-o, --output <file>', 'output file; default: stdout')
    .action(async (file, { service, language, module, output }, command) => {
      const context = openContext(command);
      const all = file === undefined ? await readFromGate(context, service) : await readFromFile(file, service);
      // deprecated intents and drafts cannot be executed
      const intents = all.filter(({ deprecated, draft }) => !deprecated && !draft).sort((a, b) => (a.intent_uid < b.intent_uid ? -1 : 1));
      const written = language === 'python' ? writePython(intents) : writeTypeScript(intents, module);
      await (output === undefined ? writeOut(written) : writeWhole(output, written));
      const left = all.length - intents.length;
      context.terminal.remark(`${plural(intents.length, 'intent')}.${left > 0 ? ` Skipped ${left} deprecated or draft.` : ''}`);
    });
}

async function readFromGate(context: CliContext, given: readonly string[] | undefined): Promise<IntentInput[]> {
  const names = given ?? (await Array.fromAsync(listServices(context.api), ({ service_id }) => service_id));
  const intents: IntentInput[] = [];
  for await (const service of readServices(context, names)) for await (const intent of service.intents) intents.push(intent);
  return intents;
}

async function readFromFile(file: string, given: readonly string[] | undefined): Promise<IntentInput[]> {
  const services = await readRegistry(file);
  const find = (name: string) => services.filter(({ service }) => foldName(service.service_name) === foldName(name));
  const missing = given?.find((name) => find(name).length === 0);
  if (missing !== undefined) throw new CliFailure('failure', `The file has no service called ${missing}.`);
  return [...new Set(given?.flatMap(find) ?? services)].flatMap(({ intents }) => intents);
}
