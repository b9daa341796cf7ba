import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { awsClientSettings } from '../../functions/core/aws/aws-client.ts';
import { forwardToFunction } from '../../functions/core/http/forward-to-function.ts';
import { openHttpClient } from '../../functions/core/relay/http-client.ts';
import { bucketSnapshots } from '../../functions/core/search/sqlite/snapshots.ts';
import { features } from './features.ts';
import { invoke } from './invoke.ts';

const at = { region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/** What every client takes for an answer to its request. */
export const anyAnswer = JSON.stringify({
  statusCode: 200,
  headers: {},
  body: '{}',
  FailedEntryCount: 0,
  hits: { total: { value: 0 }, hits: [] },
});

/** Every client of the functions that keeps connections, as one request to a peer that gives {@link anyAnswer}. */
export function keepingClients(endpoint: string): Record<string, () => Promise<unknown>> {
  Object.assign(process.env, { AWS_ENDPOINT_URL_LAMBDA: endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
  const ask = forwardToFunction('issue-pat', { method: 'POST', path: '/api/pat/issue', timeoutMs: 2_000 });
  const dynamo = new DynamoDBClient({ ...awsClientSettings(1_000, 1), endpoint, ...at });
  const upstreams = openHttpClient(async ({ hostname, port }) => connect({ host: hostname, port }), 1_000);
  const snapshots = bucketSnapshots('bucket', { endpoint, ...at });
  const upstream = { method: 'POST', url: new URL(endpoint), headers: {}, body: '{}' };
  return {
    upstream: () => upstreams.send({ ...upstream, signal: AbortSignal.timeout(2_000) }).then(({ status }) => status),
    'AWS client': () => dynamo.send(new GetItemCommand({ TableName: 'T', Key: { pk: { S: 'a' } } })).then(() => 200),
    'another function': () => invoke(ask, 'POST /mcp', { body: {} }).then(({ status }) => status),
    'S3 read': () => snapshots.read('newest.json').then(async (content) => (content && (await text(content)) === anyAnswer ? 200 : 0)),
    'S3 write': () => snapshots.write('newest.json', emptyBody(), 0).then(() => 200),
    ...Object.assign({}, ...features.map((feature) => feature.keepingClients?.(endpoint))),
  };
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
