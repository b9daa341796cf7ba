import type { BackgroundFunction, Endpoint } from '../../lib/endpoints.ts';
import { permissionsOf } from '../../lib/permissions.ts';
import type { AwsCall } from './gateway.ts';

type Attributes = Record<string, { S?: string }>;
type Row = Endpoint | BackgroundFunction;

/** The partition keys that an operation of DynamoDB touches. */
function partitionsOf({ action, input }: AwsCall): string[] {
  const pk = (attributes: unknown) => (attributes as Attributes).pk?.S ?? '';
  const [requests] = Object.values((input.RequestItems ?? {}) as Record<string, unknown>);
  switch (action) {
    case 'dynamodb:PutItem':
      return [pk(input.Item)];
    case 'dynamodb:BatchGetItem':
      return (requests as { Keys: unknown[] }).Keys.map(pk);
    case 'dynamodb:Query': {
      const [, placeholder = ''] = /pk = (:\w+)/.exec(String(input.KeyConditionExpression)) ?? [];
      return [(input.ExpressionAttributeValues as Attributes)[placeholder]?.S ?? ''];
    }
    default:
      return input.Key ? [pk(input.Key)] : [];
  }
}

/** Whether one permission of the row covers the call: its action, and every partition that it touches. */
export const isGranted = ({ needs }: Row, call: AwsCall): boolean =>
  permissionsOf(needs).some(
    ({ actions, partitions }) =>
      actions.includes(call.action) &&
      (!partitions || partitionsOf(call).every((pk) => partitions.some((partition) => pk.startsWith(partition.replace('*', ''))))),
  );

/** A call in a few words, for people. */
export const describeCall = (call: AwsCall): string =>
  [call.action, ...new Set(partitionsOf(call).map((pk) => pk.split('#', 1)[0]))].join(' ');
