/** `npm run restore -- --from <copy> (--intent <uid> | --service <id> | --all)`: exports records from a copy of the Registry table. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { Command, Option } from '@commander-js/extra-typings';
import { openIntents } from '../functions/core/registry/intents.ts';
import { listIntents, listServices } from '../functions/core/registry/lists.ts';
import { type IntentItem, type ServiceRecord, toIntentRecord } from '../functions/core/registry/records.ts';
import { openServices } from '../functions/core/registry/services.ts';
import { keys } from '../functions/core/table/keys.ts';
import { type Item, openTable } from '../functions/core/table/table.ts';
import { CliFailure, usageFailure } from '../registry/failure.ts';
import { type ReadService, writers } from '../registry/file.ts';
import { writeWhole } from '../registry/files.ts';
import { normalizeIntent, normalizeService } from '../registry/normal-form.ts';
import type { IntentInput } from '../schemas/intent.ts';
import { awsAgents, throughAwsProxy } from './aws-agents.ts';
import { runCommand } from './cli/program.ts';
import { writeOut } from './cli/terminal.ts';

const pageSize = 100;

/** Timeout of one read, in milliseconds. */
const timeoutMs = 20_000;

function openCopy(name: string) {
  const table = openTable(
    { registry: name, activity: name },
    DynamoDBDocumentClient.from(new DynamoDBClient({ requestHandler: awsAgents })),
    timeoutMs,
  );

  async function* intentsOf(service: ServiceRecord): AsyncGenerator<IntentInput> {
    for (let from: number | string | undefined = 0; from !== undefined; ) {
      const { intents } = await listIntents(table, service, from, pageSize, true);
      const items = await table.getAll<IntentItem>(intents.map(({ intent_uid }) => keys.intent(intent_uid)));
      for (const item of items) if (item) yield normalizeIntent(toIntentRecord(item));
      from = intents.at(-1)?.intent_uid;
    }
  }

  const withIntents = (service: ServiceRecord): ReadService => ({ service: normalizeService(service), intents: intentsOf(service) });

  return {
    /** @throws CliFailure if the table was not written by this version */
    async requireRegistry(): Promise<void> {
      if (await table.get(keys.head())) return;
      throw usageFailure(
        `The table ${name} contains no registry of this version. Use a copy of the table in the output RegistryTable, from a time when something was registered.`,
      );
    },

    async *all(): AsyncGenerator<ReadService> {
      for (let from: number | string | undefined = 0; from !== undefined; ) {
        const { services, next } = await listServices(table, from, pageSize);
        yield* services.map(withIntents);
        from = next;
      }
    },

    async service(idOrName: string): Promise<ReadService[]> {
      const named = await table.get<Item & { service_id: string }>(keys.serviceName(idOrName));
      const service = await openServices(table).find(named?.service_id ?? idOrName);
      if (!service) throw new CliFailure('failure', `The copy contains no service with the id or name ${idOrName}.`);
      return [withIntents(service)];
    },

    async intent(uid: string): Promise<ReadService[]> {
      const found = await openIntents(table).find(uid);
      if (!found) throw new CliFailure('failure', `The copy contains no intent ${uid}.`);
      return [{ service: normalizeService(found.service), intents: [normalizeIntent(found.intent)] }];
    },
  };
}

function explain(error: unknown, name: string): unknown {
  const cause = error instanceof Error && error.name === 'ApiError' ? error.cause : error;
  if (!(cause instanceof Error) || cause instanceof CliFailure) return error;
  if (cause.name === 'ResourceNotFoundException')
    return usageFailure(
      `The table ${name} does not exist in this account and region, or is still being restored. Wait with: aws dynamodb wait table-exists --table-name ${name}`,
    );
  if (error !== cause) return new CliFailure('unreachable', `DynamoDB is not responding${throughAwsProxy()} (${cause.name}).`, { cause });
  const isOfAws = '$metadata' in cause || /ProviderError$/.test(cause.name) || /^Region /.test(cause.message);
  return isOfAws ? new CliFailure('credentials', `AWS refused the request (${cause.name}): ${cause.message}`, { cause }) : error;
}

const program = new Command('npm run restore --')
  .description('Export a copy of the table Registry as a registry file for "intent-gate apply". The copy is only read')
  .requiredOption('--from <table>', 'name of the copy, made with aws dynamodb restore-table-to-point-in-time')
  .addOption(new Option('--intent <uid>', 'one intent with the record of its service').conflicts(['service', 'all']))
  .addOption(new Option('--service <id>', 'one service, by id or name, with all its intents').conflicts(['intent', 'all']))
  .addOption(new Option('--all', 'every service').conflicts(['intent', 'service']))
  .option('-o, --output <file>', 'output file, .yaml or .json; default: stdout')
  .showHelpAfterError('(run with --help for usage)')
  .exitOverride()
  .action(async ({ from, intent, service, all, output }) => {
    if (!all && service === undefined && intent === undefined)
      throw usageFailure('Nothing to restore. Give --intent <uid>, --service <id> or --all.');
    const write = output?.endsWith('.json') ? writers.json : writers.yaml;
    const copy = openCopy(from);
    try {
      await copy.requireRegistry();
      const chosen = all ? copy.all() : await (service === undefined ? copy.intent(intent ?? '') : copy.service(service));
      if (output !== undefined) await writeWhole(output, write(chosen));
      else await writeOut(write(chosen));
    } catch (error) {
      throw explain(error, from);
    }
  });

process.exitCode = await runCommand(process.argv.slice(2), program);
