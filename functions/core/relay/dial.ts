import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type EgressRules, mayConnect } from './egress.ts';

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<ResolvedAddress[]>;

export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true, order: 'verbatim' });

export type DialFailure = 'no_address' | 'refused_address' | 'unreachable' | 'tls_failed';

/** No connection was made, so nothing was sent. */
export class DialError extends Error {
  override readonly name = 'DialError';
  readonly failure: DialFailure;

  constructor(failure: DialFailure, cause?: unknown) {
    super(failure, { cause });
    this.failure = failure;
  }
}

export interface Target {
  protocol: string;
  /** without the brackets of an IPv6 literal */
  hostname: string;
  port: number;
}

export const targetOf = ({ protocol, hostname, port }: URL): Target => ({
  protocol,
  hostname: hostname.replace(/^\[|\]$/g, ''),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
});

export interface DialOptions {
  rules: EgressRules;
  resolve: Resolve;
  /** certificates to trust besides the usual ones, in PEM; for tests and local development */
  trustedCertificate?: string;
  /** longest wait for address, connection and TLS together, in milliseconds */
  connectTimeoutMs: number;
}

/**
 * Opens a connection to one target after checking every address of its name, and the peer that answered. One address that may not be
 * called is enough to refuse the name, because the name server would decide which of several is used.
 * @throws DialError
 */
export async function dial(target: Target, options: DialOptions): Promise<Socket> {
  const timeout = AbortSignal.timeout(options.connectTimeoutMs);
  const addresses = await within(resolveAllowed(target, options), 'no_address', timeout);
  const socket = await opened(openTcp(target, addresses), 'connect', 'unreachable', timeout);
  const { protocol, port } = target;
  if (!mayConnect(options.rules, protocol, port, socket.remoteAddress ?? '')) {
    socket.destroy();
    throw new DialError('refused_address');
  }
  if (protocol === 'http:') return socket;
  return opened(openTls(socket, target, options.trustedCertificate), 'secureConnect', 'tls_failed', timeout);
}

async function resolveAllowed({ protocol, hostname, port }: Target, { rules, resolve }: DialOptions): Promise<ResolvedAddress[]> {
  const family = isIP(hostname);
  const addresses = family === 0 ? await resolve(hostname).catch((cause) => Promise.reject(new DialError('no_address', cause))) : [];
  if (family !== 0) addresses.push({ address: hostname, family });
  if (addresses.length === 0) throw new DialError('no_address');
  if (!addresses.every(({ address }) => mayConnect(rules, protocol, port, address))) throw new DialError('refused_address');
  return addresses;
}

/** The name is resolved once: the connection uses the addresses that were checked. */
const openTcp = ({ hostname, port }: Target, addresses: ResolvedAddress[]): Socket =>
  connectTcp({ host: hostname, port, noDelay: true, autoSelectFamily: true, lookup: (_, __, callback) => callback(null, addresses) });

const openTls = (socket: Socket, { hostname }: Target, trustedCertificate: string | undefined): Socket =>
  connectTls({
    socket,
    host: hostname,
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ...(trustedCertificate !== undefined && { ca: trustedCertificate }),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  });

const opened = (socket: Socket, event: 'connect' | 'secureConnect', failure: DialFailure, signal: AbortSignal): Promise<Socket> =>
  within(
    new Promise<Socket>((resolve, reject) => {
      // Never removed: an error between two listeners must not end the process.
      socket.on('error', (cause) => reject(new DialError(failure, cause)));
      const giveUp = () => socket.destroy();
      signal.addEventListener('abort', giveUp, { once: true });
      socket.once(event, () => {
        signal.removeEventListener('abort', giveUp);
        resolve(socket);
      });
    }),
    failure,
    signal,
  );

const within = <T>(step: Promise<T>, failure: DialFailure, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DialError(failure, signal.reason)), { once: true });
    step.then(resolve, reject);
  });
