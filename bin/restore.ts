/** `npm run restore -- --from <copy> (--intent <uid> | --service <id> | --all)`: exports what a copy of the table Registry holds. */
import { pipeline } from 'node:stream/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { Command, Option } from '@commander-js/extra-typings';
import { type IntentItem, toIntentRecord } from '../functions/core/registry/intent-item.ts';
import { openIntents } from '../functions/core/registry/intents.ts';
import { listIntents } from '../functions/core/registry/lists.ts';
import type { ServiceRecord } from '../functions/core/registry/records.ts';
import { listServices } from '../functions/core/registry/service-list.ts';
import { openServices } from '../functions/core/registry/services.ts';
import { keys } from '../functions/core/table/keys.ts';
import { type Item, openTable } from '../functions/core/table/table.ts';
import type { IntentInput } from '../schemas/intent.ts';
import { CliFailure, usageFailure } from './cli/failure.ts';
import { runCommand } from './cli/program.ts';
import { type ReadService, writers } from './cli/registry/file.ts';
import { writeWhole } from './cli/registry/files.ts';
import { normalizeIntent, normalizeService } from './cli/registry/normal-form.ts';

const pageSize = 100;

/** Longest that one read may take, in milliseconds. */
const patienceMs = 20_000;

/** A copy of the table Registry, which is only read. */
function openCopy(name: string) {
  const table = openTable({ registry: name, activity: name }, DynamoDBDocumentClient.from(new DynamoDBClient({})), patienceMs);

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
    /** @throws CliFailure if the table is none that this version could have written */
    async requireRegistry(): Promise<void> {
      if (await table.get(keys.head())) return;
      throw usageFailure(
        `The table ${name} holds no registry of this version. A copy of the table in the output RegistryTable is meant, of a time when something was registered.`,
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
      if (!service) throw new CliFailure('failure', `The copy has no service with the id or name ${idOrName}.`);
      return [withIntents(service)];
    },

    async intent(uid: string): Promise<ReadService[]> {
      const found = await openIntents(table).find(uid);
      if (!found) throw new CliFailure('failure', `The copy has no intent ${uid}.`);
      return [{ service: normalizeService(found.service), intents: [normalizeIntent(found.intent)] }];
    },
  };
}

/** What AWS refused or did not answer, in words; anything else as it is. */
function explain(error: unknown, name: string): unknown {
  const cause = error instanceof Error && error.name === 'ApiError' ? error.cause : error;
  if (!(cause instanceof Error) || cause instanceof CliFailure) return error;
  if (cause.name === 'ResourceNotFoundException')
    return usageFailure(
      `There is no table ${name} in this account and region, or it is not complete yet: aws dynamodb wait table-exists --table-name ${name}`,
    );
  if (error !== cause) return new CliFailure('unreachable', `DynamoDB does not answer (${cause.name}).`, { cause });
  const isOfAws = '$metadata' in cause || /ProviderError$/.test(cause.name) || /^Region /.test(cause.message);
  return isOfAws ? new CliFailure('credentials', `AWS refuses (${cause.name}): ${cause.message}`, { cause }) : error;
}

const program = new Command('npm run restore --')
  .description(
    'Writes a registry file of what a copy of the table Registry holds, for "intent-gate apply". Reads the copy, and changes nothing',
  )
  .requiredOption('--from <table>', 'the copy, made with aws dynamodb restore-table-to-point-in-time')
  .addOption(new Option('--intent <uid>', 'one intent, and its service without the others').conflicts(['service', 'all']))
  .addOption(new Option('--service <id>', 'a service, by its id or name, with all its intents').conflicts(['intent', 'all']))
  .addOption(new Option('--all', 'every service').conflicts(['intent', 'service']))
  .option('-o, --output <file>', 'the file, .yaml or .json; default: stdout')
  .showHelpAfterError('(--help shows what there is)')
  .exitOverride()
  .action(async ({ from, intent, service, all, output }) => {
    if (!all && service === undefined && intent === undefined)
      throw usageFailure('What is to be restored? Give one of --intent <uid>, --service <id> and --all.');
    const write = output?.endsWith('.json') ? writers.json : writers.yaml;
    const copy = openCopy(from);
    try {
      await copy.requireRegistry();
      const chosen = all ? copy.all() : await (service === undefined ? copy.intent(intent ?? '') : copy.service(service));
      if (output !== undefined) await writeWhole(output, write(chosen));
      else await pipeline(write(chosen), process.stdout, { end: false });
    } catch (error) {
      throw explain(error, from);
    }
  });

process.exitCode = await runCommand(process.argv.slice(2), program);
