import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { HttpRequest } from '@smithy/core/protocols';
import { openStreams } from './aws-client.ts';
import { openSignature } from './aws-signature.ts';
import { type AwsAccess, awsDomain } from './signed-request.ts';

/**
 * Opens the objects under one key prefix of an S3 bucket, without the S3 client, which would be a third of the search function. A connection is
 * closed after 5 silent seconds; a large object may take longer in total. Reads are tried twice.
 * `AWS_ENDPOINT_URL_S3` overrides the endpoint.
 */
export function openBucket(bucket: string, prefix: string, access: AwsAccess = {}) {
  const { region = process.env.AWS_REGION ?? '', credentials } = access;
  const endpoint = access.endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL;
  const root = endpoint === undefined ? `https://${bucket}.s3.${region}.${awsDomain(region)}` : `${endpoint}/${bucket}`;
  const sign = openSignature(credentials);
  const request = openStreams(5_000);

  async function send(method: 'GET' | 'PUT' | 'DELETE', name: string, content?: { body: Readable; bytes: number }) {
    const { protocol, hostname, port, host, pathname: path } = new URL(`${root}/${prefix}${name}`);
    const headers = {
      host,
      // https protects writes, and the digest in the manifest protects reads
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      ...(content && { 'content-length': String(content.bytes) }),
    };
    const signed = await sign({ method, path, headers, body: '' }, { service: 's3', region });
    const target = { protocol, hostname, ...(port && { port: Number(port) }), path };
    const answer = await request(new HttpRequest({ method, ...target, headers: signed }), content?.body);
    return { status: answer.statusCode ?? 0, body: answer };
  }

  async function expectSuccess(operation: string, { status, body }: { status: number; body: Readable }): Promise<void> {
    const answer = await text(body);
    if (status >= 300) throw new Error(`S3 answered ${operation} with ${status} ${codeIn(answer)}`);
  }

  return {
    /** @returns undefined if it does not exist */
    async read(name: string): Promise<Readable | undefined> {
      const first = await send('GET', name).catch(() => undefined);
      const hasFailed = first === undefined || first.status >= 500;
      if (hasFailed) first?.body.destroy();
      const { status, body } = hasFailed ? await send('GET', name) : first;
      if (status === 200) return body;
      const code = codeIn(await text(body));
      if (code === 'NoSuchKey') return undefined;
      throw new Error(`S3 answered GetObject with ${status} ${code}`);
    },
    /** @param bytes - length of the content */
    async write(name: string, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, bytes: number): Promise<void> {
      await expectSuccess('PutObject', await send('PUT', name, { body: Readable.from(content), bytes }));
    },
    async remove(name: string): Promise<void> {
      await expectSuccess('DeleteObject', await send('DELETE', name));
    },
  };
}

const codeIn = (answer: string): string => /<Code>(\w+)<\/Code>/.exec(answer)?.[1] ?? '';
