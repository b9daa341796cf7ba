import type { BackgroundFunction } from '../../lib/endpoints/endpoint.ts';
import type { Endpoint } from '../../lib/endpoints.ts';
import { permissionsOf } from '../../lib/permissions.ts';
import type { AwsCall } from './gateway.ts';

type Attributes = Record<string, { S?: string }>;
type Row = Endpoint | BackgroundFunction;

/** What IAM has to allow: an action, on a partition if it is one of DynamoDB's. */
interface Access {
  action: string;
  partition?: string;
}

const verbs = { Put: 'PutItem', Update: 'UpdateItem', Delete: 'DeleteItem', ConditionCheck: 'ConditionCheckItem' };

/** A transaction needs what each of its writes needs, and a batch what each of its keys does. */
function accessesOf({ action, input }: AwsCall): Access[] {
  const at = (attributes: unknown, by = action): Access => ({ action: by, partition: (attributes as Attributes).pk?.S ?? '' });
  switch (action) {
    case 'dynamodb:TransactWriteItems':
      return (input.TransactItems as Record<keyof typeof verbs, { Item?: unknown; Key?: unknown }>[]).flatMap((write) =>
        Object.entries(write).map(([verb, { Item, Key }]) => at(Item ?? Key, `dynamodb:${verbs[verb as keyof typeof verbs]}`)),
      );
    case 'dynamodb:PutItem':
      return [at(input.Item)];
    case 'dynamodb:BatchGetItem':
      return Object.values(input.RequestItems as Record<string, { Keys: unknown[] }>).flatMap(({ Keys }) => Keys.map((key) => at(key)));
    case 'dynamodb:BatchWriteItem':
      return Object.values(
        input.RequestItems as Record<string, { PutRequest?: { Item: unknown }; DeleteRequest?: { Key: unknown } }[]>,
      ).flatMap((writes) => writes.map(({ PutRequest, DeleteRequest }) => at(PutRequest?.Item ?? DeleteRequest?.Key)));
    case 'dynamodb:Query': {
      const [, placeholder = ''] = /pk = (:\w+)/.exec(String(input.KeyConditionExpression)) ?? [];
      return [{ action, partition: (input.ExpressionAttributeValues as Attributes)[placeholder]?.S ?? '' }];
    }
    default:
      return [input.Key ? at(input.Key) : { action }];
  }
}

/** What a call needs and no permission of the row covers, in a few words each. */
export const refusedOf = ({ needs }: Row, call: AwsCall): string[] =>
  accessesOf(call)
    .filter(
      ({ action, partition }) =>
        !permissionsOf(needs).some(
          ({ actions, partitions }) =>
            actions.includes(action) &&
            (!partitions || partition === undefined || partitions.some((prefix) => partition.startsWith(prefix.replace('*', '')))),
        ),
    )
    .map(({ action, partition = '' }) => `${action} ${partition.split('#', 1)[0]}`);
