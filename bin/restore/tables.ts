import { DescribeTableCommand, DynamoDBClient, ScanCommand, type TableDescription } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { keys, type TableName, tableOf } from '../../functions/core/table/keys.ts';
import { openTable, type Table } from '../../functions/core/table/table.ts';
import { CliFailure, usageFailure } from '../cli/failure.ts';

export interface TableChoice {
  /** name of the copy */
  from: string;
  /** name of the live table */
  to: string;
  region?: string | undefined;
}

export interface Tables extends AsyncDisposable {
  copy: Table;
  live: Table;
  choice: TableChoice;
  /** what is unusual, for a person to read before anything is changed */
  remarks: string[];
}

/** Searches miss an announcement that is written with a clock which is further off; see `search/sqlite/index-sync.ts`. */
const maxClockErrorMs = 3_000;

/**
 * Opens the copy and the live table, and makes sure that both are what they are taken for. Changes nothing.
 * @throws CliFailure in words, if they are not
 */
export async function openTables(choice: TableChoice): Promise<Tables> {
  const { from, to, region } = choice;
  if (from === to) throw usageFailure(`--from and --to are the same table, ${to}. --from is the copy.`);
  const raw = new DynamoDBClient({
    ...(region !== undefined && { region }),
    maxAttempts: 5,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 20_000 },
  });
  const clock = watchClock(raw);
  try {
    const [copied, standing] = [await describe(raw, choice, 'from'), await describe(raw, choice, 'to')];
    requireClock(clock.errorMs);
    requireReady(copied, from);
    if ((await findContent(raw, from)) === 'nothing') throw usageFailure(`The table ${from} is empty: there is nothing to restore.`);
    await findContent(raw, to);
    const client = DynamoDBDocumentClient.from(raw, { marshallOptions: { removeUndefinedValues: true } });
    const open = (name: string) => openTable({ registry: name, activity: name }, client);
    const source = copied.RestoreSummary?.SourceTableArn;
    const isForeign = source !== undefined && source !== standing.TableArn;
    return {
      copy: open(from),
      live: open(to),
      choice,
      remarks: isForeign ? [`Mind that ${from} is a copy of another table than ${to}: ${source}.`] : [],
      [Symbol.asyncDispose]: async () => raw.destroy(),
    };
  } catch (error) {
    raw.destroy();
    throw explain(error, choice);
  }
}

/**
 * Tries each kind of write in a way that has no effect.
 * @throws CliFailure if one is not permitted
 */
export async function requireWriting({ live, choice }: Tables): Promise<void> {
  const nobody = keys.member('', 'nobody:nothing:v0');
  const never = { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(pk)' };
  try {
    await live.put({ ...nobody }, never);
    await live.update(nobody, {
      UpdateExpression: 'SET #rev = :rev',
      ...never,
      ExpressionAttributeNames: { '#rev': 'rev' },
      ExpressionAttributeValues: { ':rev': '' },
    });
    await live.delete(nobody, never);
    await live.deleteAll([nobody]);
  } catch (error) {
    throw explain(error, choice);
  }
}

async function describe(client: DynamoDBClient, choice: TableChoice, role: 'from' | 'to'): Promise<TableDescription> {
  const name = choice[role];
  try {
    const { Table: found = {} } = await client.send(new DescribeTableCommand({ TableName: name }));
    const isOurs = JSON.stringify(found.KeySchema?.map(({ AttributeName, KeyType }) => [AttributeName, KeyType])) === ourKeys;
    if (!isOurs) throw usageFailure(`The table ${name} is no table of Intent Gate: its keys are not pk and sk.`);
    return found;
  } catch (error) {
    if ((error as Error).name !== 'ResourceNotFoundException') throw error;
    const place = `There is no table ${name} in ${await client.config.region()}`;
    if (role === 'to') {
      throw usageFailure(`${place}. --to is the output RegistryTable of the deployment; --region chooses another region.`);
    }
    throw usageFailure(
      `${place}. Make the copy first: aws dynamodb restore-table-to-point-in-time --source-table-name ${choice.to} --target-table-name ${name} --restore-date-time <time>`,
    );
  }
}

const ourKeys = JSON.stringify([
  ['pk', 'HASH'],
  ['sk', 'RANGE'],
]);

function requireReady({ TableStatus, RestoreSummary }: TableDescription, name: string): void {
  if (TableStatus === 'ACTIVE' && !RestoreSummary?.RestoreInProgress) return;
  throw new CliFailure(
    'failure',
    `The copy ${name} is not complete yet (${TableStatus}). Wait for it: aws dynamodb wait table-exists --table-name ${name}`,
  );
}

/** One item says which of the two tables it is, or that it is neither. */
async function findContent(client: DynamoDBClient, name: string): Promise<'nothing' | 'registry'> {
  const { Items: [item] = [] } = await client.send(new ScanCommand({ TableName: name, Limit: 1, ProjectionExpression: 'pk' }));
  if (item === undefined) return 'nothing';
  const kind = kindOf(item.pk?.S ?? '');
  if (kind === 'registry') return kind;
  throw usageFailure(
    kind === 'activity'
      ? `The table ${name} holds agents and counters, which are not restored. The table Registry (output RegistryTable) or a copy of it is meant.`
      : `The table ${name} is no table of Intent Gate: it holds other items.`,
  );
}

function kindOf(pk: string): TableName | undefined {
  try {
    return tableOf(pk);
  } catch {
    return undefined;
  }
}

/** How far this machine's clock is ahead of that of AWS: answers are dated. */
function watchClock(client: DynamoDBClient): { errorMs: number } {
  const clock = { errorMs: 0 };
  client.middlewareStack.add(
    (next) => async (call) => {
      const sentMs = Date.now();
      const answer = await next(call);
      const { headers = {} } = answer.response as { headers?: Record<string, string> };
      const dateMs = Date.parse(headers.date ?? '');
      // The date is cut to a second: the true time is up to one later.
      if (!Number.isNaN(dateMs)) clock.errorMs = (sentMs + Date.now()) / 2 - (dateMs + 500);
      return answer;
    },
    { step: 'deserialize' },
  );
  return clock;
}

export function requireClock(errorMs: number): void {
  if (Math.abs(errorMs) <= maxClockErrorMs) return;
  const seconds = Math.round(Math.abs(errorMs) / 1_000);
  throw new CliFailure(
    'failure',
    `The clock of this machine is ${seconds} seconds ${errorMs > 0 ? 'ahead' : 'behind'}, so searches would miss what is restored. Set it by a time server, or run this elsewhere.`,
  );
}

const permissions =
  'dynamodb:DescribeTable, Scan, GetItem, BatchGetItem and Query on both tables, and PutItem, UpdateItem, DeleteItem and BatchWriteItem on the live one';

/** What AWS refused or did not answer, in words; anything else as it is. */
export function explain(error: unknown, { from, to }: TableChoice): unknown {
  if (!(error instanceof Error) || error instanceof CliFailure) return error;
  const cause = error.name === 'ApiError' && error.cause instanceof Error ? error.cause : error;
  const failure = (reason: 'credentials' | 'unreachable' | 'usage', message: string) => new CliFailure(reason, message, { cause: error });
  if (/^Region is missing/.test(cause.message)) return failure('usage', 'Which region? Give --region or AWS_REGION.');
  switch (cause.name) {
    case 'AccessDeniedException':
      return failure('credentials', `AWS does not permit it: ${cause.message} Needed are ${permissions}.`);
    case 'CredentialsProviderError':
    case 'TokenProviderError':
      return failure('credentials', 'No credentials of AWS are found. Sign in with "aws sso login", or export AWS_PROFILE=<profile>.');
    case 'UnrecognizedClientException':
    case 'ExpiredTokenException':
    case 'InvalidSignatureException':
      return failure('credentials', `AWS refuses the credentials (${cause.name}). Sign in again, for example with "aws sso login".`);
    case 'ResourceNotFoundException':
      return failure('usage', `${from} or ${to} has been deleted meanwhile.`);
  }
  const isOfAws =
    cause.name !== 'ValidationException' &&
    ('$metadata' in cause || 'code' in cause || ['TimeoutError', 'AggregateError'].includes(cause.name));
  if (!isOfAws) return error;
  return failure('unreachable', `DynamoDB does not answer (${cause.name}). What is done stays done; the same command does the rest.`);
}
