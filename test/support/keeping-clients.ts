import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { openAnnouncements } from '../../functions/approvals/announce.ts';
import { awsClientSettings } from '../../functions/core/aws/aws-client.ts';
import { forwardToFunction } from '../../functions/core/http/forward-to-function.ts';
import { openHttpClient } from '../../functions/core/relay/http-client.ts';
import { bucketSnapshots } from '../../functions/core/search/sqlite/snapshots.ts';
import { openOpenSearchEngine } from '../../functions/opensearch/engine.ts';
import { openUserPool } from '../../functions/sign-in/user-pool.ts';
import type { ApprovalContent } from '../../schemas/deferred.ts';
import { searchQuery } from '../../schemas/search.ts';
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

const waiting = { id: 'a' } as ApprovalContent;

/** Every client of the functions that keeps connections, as one request to a peer that gives {@link anyAnswer}. */
export function keepingClients(endpoint: string): Record<string, () => Promise<unknown>> {
  Object.assign(process.env, { AWS_ENDPOINT_URL_LAMBDA: endpoint, AWS_ENDPOINT_URL_EVENTBRIDGE: endpoint });
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
  const ask = forwardToFunction('issue-pat', { method: 'POST', path: '/api/pat/issue', timeoutMs: 2_000 });
  const announce = openAnnouncements();
  const dynamo = new DynamoDBClient({ ...awsClientSettings(1_000, 1), endpoint, ...at });
  const upstreams = openHttpClient(async ({ hostname, port }) => connect({ host: hostname, port }), 1_000);
  const snapshots = bucketSnapshots('bucket', { endpoint, ...at });
  const engine = openOpenSearchEngine({ endpoint, ...at });
  const userPool = openUserPool({ userPool: 'eu-west-1_Abc123', domain: endpoint, clientId: 'gate' });
  const upstream = { method: 'POST', url: new URL(endpoint), headers: {}, body: '{}' };
  return {
    upstream: () => upstreams.send({ ...upstream, signal: AbortSignal.timeout(2_000) }).then(({ status }) => status),
    'AWS client': () => dynamo.send(new GetItemCommand({ TableName: 'T', Key: { pk: { S: 'a' } } })).then(() => 200),
    'another function': () => invoke(ask, 'POST /mcp', { body: {} }).then(({ status }) => status),
    EventBridge: () => announce(waiting, 'digest', 'gate').then(() => 200),
    'S3 read': () => snapshots.read('newest.json').then(async (content) => (content && (await text(content)) === anyAnswer ? 200 : 0)),
    'S3 write': () => snapshots.write('newest.json', emptyBody(), 0).then(() => 200),
    OpenSearch: () => engine.search(searchQuery.parse({ query: 'weather' })).then(() => 200),
    // the token of the peer is none
    'user pool': () => userPool.finish('code', userPool.begin(), endpoint).catch(({ name }) => (name === 'ZodError' ? 200 : 0)),
  };
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
