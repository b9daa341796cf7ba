import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { HttpRequest } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import { Sha256 } from '../../aws-client.ts';
import { readEnvironment } from '../../environment.ts';
import { currentSignal } from '../../invocation.ts';
import type { SnapshotStore } from './snapshots.ts';

export interface S3Access {
  /** default: S3 of the region, or what `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` names */
  endpoint?: string | undefined;
  /** default: the function's own */
  region?: string;
  /** default: those that Lambda puts into the function's environment */
  credentials?: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
}

/**
 * Snapshots in an S3 bucket, under one prefix. Three operations are all that is asked of S3, so they are sent without its client, which would
 * make up a third of the search function. A connection that is silent for 5 seconds is given up: a large snapshot may take longer as a whole.
 */
export function bucketSnapshots(
  bucket: string,
  {
    endpoint = process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL,
    region = process.env.AWS_REGION ?? '',
    credentials = fromEnv(),
  }: S3Access = {},
): SnapshotStore {
  const root = endpoint === undefined ? `https://${bucket}.s3.${region}.${awsDomain(region)}` : `${endpoint}/${bucket}`;
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256: Sha256, uriEscapePath: false, applyChecksum: false });
  const handler = new NodeHttpHandler({ connectionTimeout: 500, socketTimeout: 5_000 });

  async function send(method: 'GET' | 'PUT' | 'DELETE', name: string, content?: { body: Readable; bytes: number }) {
    const { protocol, hostname, port, host, pathname: path } = new URL(`${root}/search-index/${name}`);
    const headers = {
      host,
      // Over https, and what is read is held to a digest in the manifest.
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      ...(content && { 'content-length': String(content.bytes) }),
    };
    const request = new HttpRequest({ method, protocol, hostname, ...(port && { port: Number(port) }), path, headers });
    const signed = HttpRequest.clone(await signer.sign(request));
    signed.body = content?.body;
    const abortSignal = currentSignal();
    const { response } = await handler.handle(signed, abortSignal && { abortSignal });
    return { status: response.statusCode, body: response.body as Readable };
  }

  async function expectSuccess(operation: string, { status, body }: { status: number; body: Readable }): Promise<void> {
    const answer = await text(body);
    if (status >= 300) throw new Error(`S3 answered ${operation} with ${status} ${codeIn(answer)}`);
  }

  return {
    async read(name) {
      const { status, body } = await send('GET', name);
      if (status === 200) return body;
      const code = codeIn(await text(body));
      if (code === 'NoSuchKey') return undefined;
      throw new Error(`S3 answered GetObject with ${status} ${code}`);
    },
    async write(name, content, bytes) {
      await expectSuccess('PutObject', await send('PUT', name, { body: Readable.from(content), bytes }));
    },
    async remove(name) {
      await expectSuccess('DeleteObject', await send('DELETE', name));
    },
  };
}

const awsDomain = (region: string): string => (region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com');

const codeIn = (answer: string): string => /<Code>(\w+)<\/Code>/.exec(answer)?.[1] ?? '';

/** Snapshots in the bucket that the environment names. Undefined if it names none. */
export function snapshotsFromEnvironment(): SnapshotStore | undefined {
  const { snapshotBucket } = readEnvironment([], ['snapshotBucket']);
  return snapshotBucket ? bucketSnapshots(snapshotBucket) : undefined;
}
