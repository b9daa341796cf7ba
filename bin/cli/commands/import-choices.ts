import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { collect, concurrencyOption } from '../context.ts';

/** Adds the command with its options, but without its action. */
export const addImportCommand = (program: CommandUnknownOpts) =>
  program
    .command('import <document>')
    .description(
      'Register the operations in an OpenAPI 3.0 to 3.2, Swagger 2.0 or service description document: a file, a folder with the document and its parts, an https address, or - for stdin',
    )
    .option('--with <folder>', 'also read JSON and YAML files that the document refers to, in this folder or below this address')
    .option('--large', 'read more than 20 MB of JSON or 5 MB of YAML, which can take gigabytes of memory')
    .option('--dry-run', 'show the changes without making them')
    .option('--namespace <namespace>', "namespace for the intents; default: that of the registered operations, else the API's host")
    .option(
      '--intent-version <version>',
      "version for the intents, such as v2; default: the one that most of the service's intents have, else the document's major version",
    )
    .option('--deprecate-older', 'mark older versions as deprecated if they have a successor in the document')
    .option('--header <field>', "header field to send with every call, such as 'Api-Version: 2'; may be repeated", collect)
    .option('--ignore-header <name>', 'header parameter to leave out; may be repeated', collect)
    .option('--base-url <url>', "address of the API, replacing the document's own servers")
    .option('--name <name>', 'name of the service; default: its current name, else the title of the document')
    .option('--service <service>', 'add to this service (service_id or name) without changing its record')
    .option('--allow-origin <origin...>', 'also import operations at this origin, such as https://files.example.com')
    .option('--keep-deprecated', 'import deprecated operations as usable')
    .option('--draft', 'create intents as drafts, which agents cannot see; existing intents keep their state')
    .option('--prune', 'also remove intents of the service that are not in the document')
    .option('-y, --yes', 'do not ask for confirmation')
    .addOption(concurrencyOption)
    .option('--allow-loopback', 'allow the document and the API to be on this machine; for local development')
    .option('--verbose', 'show every note instead of one of each kind');

export type ImportChoices = ReturnType<ReturnType<typeof addImportCommand>['opts']>;
