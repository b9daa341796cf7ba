import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { close, listen } from '../../bin/local/http.ts';
import { makeCertificate } from './certificate.ts';

/** A host that no name server knows, so that only a proxy can reach it. */
export const proxiedHost = 'gate.example';

/** A server for {@link proxiedHost} with a certificate of its own, and an HTTP proxy whose connections all lead to it. */
export async function startProxied(folder: string, answer: (path: string) => { status?: number; body: unknown }) {
  /** paths that were requested from the server */
  const paths: string[] = [];
  /** what the proxy was asked to connect to */
  const targets: string[] = [];
  const credentials: (string | undefined)[] = [];
  const { cert, key } = makeCertificate(proxiedHost);
  const server = createTlsServer({ cert, key }, ({ url = '' }, response) => {
    paths.push(url);
    const { status = 200, body } = answer(url);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(status === 204 ? undefined : JSON.stringify(body));
  });
  const port = await listen(server);
  const proxy = createServer();
  proxy.on('connect', ({ url = '', headers }, client) => {
    targets.push(url);
    credentials.push(headers['proxy-authorization']);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  const address = `127.0.0.1:${await listen(proxy)}`;
  const trusted = join(folder, 'gate.pem');
  writeFileSync(trusted, cert);
  return {
    /** of the proxy, without a scheme */
    address,
    /** with which programs trust the server */
    env: { NODE_EXTRA_CA_CERTS: trusted, SSL_CERT_FILE: trusted },
    paths,
    targets,
    credentials,
    stop: () => Promise.all([close(proxy), close(server)]),
  };
}
