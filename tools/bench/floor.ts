import { fileURLToPath } from 'node:url';
import { openHttp } from '../../client/http.ts';
import type { Load } from './load.ts';
import type { TableWork } from './table-work.ts';

interface FloorOptions {
  dynamoUrl: string;
  upstream: Pick<Load, 'url' | 'headers' | 'body'>;
  baseUrl: string;
  token: string;
}

/** The floor as bundled functions, which repeat the DynamoDB requests of executions: in plain Node, and with the AWS SDK. */
export async function floorOf({ newest }: Pick<TableWork, 'newest'>, { baseUrl, ...options }: FloorOptions) {
  const { ConditionExpression, ...update } = JSON.parse(newest.UpdateItem ?? '');
  // the table has already counted this call, and would refuse it
  const repeatable = { ...update, ConditionExpression: `(${ConditionExpression}) OR attribute_exists(pk)` };
  const { body } = await openHttp({ url: baseUrl }).send('GET', '/.well-known/jwks.json');
  const event = {
    ...options,
    read: { operation: 'BatchGetItem', body: newest.BatchGetItem },
    update: { operation: 'UpdateItem', body: JSON.stringify(repeatable) },
    jwk: (body as { keys: unknown[] }).keys[0],
  };
  const folder = fileURLToPath(new URL('./floor', import.meta.url));
  return { folders: { floor: folder, sdk: `${folder}/sdk` }, event };
}
