import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { close, listen } from '../../bin/local/http.ts';

/** One call that a Lambda made of DynamoDB or KMS. */
export interface AwsCall {
  /** who made it */
  accessKeyId: string;
  /** for example `dynamodb:GetItem` */
  action: string;
  input: Record<string, unknown>;
}

export interface Gateway {
  url: string;
  calls: AwsCall[];
  /** sends requests to `/live` to this REST API */
  pointTo(apiId: string): void;
  stop(): Promise<void>;
}

const services: Record<string, string> = { DynamoDB_20120810: 'dynamodb', TrentService: 'kms' };

/**
 * A proxy in front of the emulator. Clients reach the API by the path that it has on AWS, and every call that a Lambda makes of DynamoDB
 * and KMS is recorded.
 */
export async function startGateway(): Promise<Gateway & { forwardTo(port: number): void }> {
  let emulatorPort = 0;
  let target = '';
  const calls: AwsCall[] = [];

  const rewrite = (path: string): string =>
    path.startsWith('/live/') ? `/restapis/${target}/live/_user_request_${path.slice('/live'.length)}` : path;

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    note(incoming, body, calls);
    const upstream = request({
      host: '127.0.0.1',
      port: emulatorPort,
      method: incoming.method,
      path: rewrite(incoming.url ?? '/'),
      // As they came, Host included: they are signed.
      headers: incoming.headers,
      rejectUnauthorized: false,
    });
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch((error) => outgoing.destroy(error));
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    calls,
    forwardTo: (port) => {
      emulatorPort = port;
    },
    pointTo: (next) => {
      target = next;
    },
    stop: () => close(server),
  };
}

function note({ headers }: IncomingMessage, body: Buffer, calls: AwsCall[]): void {
  const [prefix = '', operation = ''] = String(headers['x-amz-target'] ?? '').split('.');
  const service = services[prefix];
  const accessKeyId = /Credential=(\w+)\//.exec(headers.authorization ?? '')?.[1];
  if (service && accessKeyId?.startsWith('ASIA')) {
    calls.push({ accessKeyId, action: `${service}:${operation}`, input: JSON.parse(body.toString()) });
  }
}

/** The access key with which the emulator lets a function act in its role. */
export const accessKeyOf = (functionArn: string, roleArn: string): string =>
  `ASIA${createHash('sha256').update(`${functionArn}:${roleArn}`).digest('hex').slice(0, 16).toUpperCase()}`;
