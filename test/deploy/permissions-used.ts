import type { Endpoint, RecordKind, ScheduledFunction } from '../../lib/endpoints.ts';
import { partitionPrefixes, permissionsOf } from '../../lib/permissions.ts';
import type { AwsCall } from './gateway.ts';

type Attributes = Record<string, { S?: string }>;
type Row = Endpoint | ScheduledFunction;

/** The partition keys that an operation of DynamoDB touches. */
function partitionsOf({ action, input }: AwsCall): string[] {
  const pk = (attributes: unknown) => (attributes as Attributes).pk?.S ?? '';
  const [requests] = Object.values((input.RequestItems ?? {}) as Record<string, unknown>);
  switch (action) {
    case 'dynamodb:PutItem':
      return [pk(input.Item)];
    case 'dynamodb:BatchGetItem':
      return (requests as { Keys: unknown[] }).Keys.map(pk);
    case 'dynamodb:BatchWriteItem':
      return (requests as { DeleteRequest: { Key: unknown } }[]).map(({ DeleteRequest }) => pk(DeleteRequest.Key));
    case 'dynamodb:Query': {
      const [, placeholder = ''] = /pk = (:\w+)/.exec(String(input.KeyConditionExpression)) ?? [];
      return [(input.ExpressionAttributeValues as Attributes)[placeholder]?.S ?? ''];
    }
    default:
      return input.Key ? [pk(input.Key)] : [];
  }
}

/** What a call needed: `dynamodb:GetItem INTENT#*`, or an action alone. */
export const needsOfCall = (call: AwsCall): string[] => {
  const partitions = partitionsOf(call);
  return partitions.length === 0 ? [call.action] : partitions.map((pk) => `${call.action} ${prefixOf(pk)}`);
};

const prefixOf = (pk: string): string => {
  const kind = (Object.keys(partitionPrefixes) as RecordKind[]).find((candidate) => pk.startsWith(partitionPrefixes[candidate]));
  return kind ? `${partitionPrefixes[kind]}*` : pk;
};

/** What a row grants, in the same form. */
export const grantsOf = ({ needs }: Row): string[] =>
  permissionsOf(needs)
    .filter(({ actions }) => /^(dynamodb|kms):/.test(actions[0] ?? ''))
    .flatMap(({ actions, partitions = [''] }) =>
      actions.flatMap((action) => partitions.map((partition) => `${action} ${partition}`.trim())),
    );
