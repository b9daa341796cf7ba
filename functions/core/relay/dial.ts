import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { type EgressRules, mayConnect, type Target } from './egress.ts';

export interface ResolvedAddress {
  address: string;
  family: number;
}

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

export interface DialOptions {
  rules: EgressRules;
  resolve: Resolve;
  /** additional certificates in PEM, for tests and local development */
  trustedCertificate?: string | undefined;
  /** limit for look-up, connection and TLS together, in milliseconds */
  connectTimeoutMs: number;
}

/**
 * Opens a connection to a target after checking every resolved address, and then the connected peer. A single disallowed address refuses the
 * whole name, because otherwise the name server could choose it.
 * @throws DialError
 */
export async function dial(target: Target, options: DialOptions): Promise<Socket> {
  const timeout = AbortSignal.timeout(options.connectTimeoutMs);
  const addresses = await within(resolveAllowed(target, options), 'no_address', timeout);
  const socket = await connectFirst(target, addresses, timeout);
  if (!mayConnect(options.rules, target, socket.remoteAddress ?? '')) {
    socket.destroy();
    throw new DialError('refused_address');
  }
  if (target.protocol === 'http:') return socket;
  return opened(openTls(socket, target, options.trustedCertificate), 'secureConnect', 'tls_failed', timeout);
}

async function resolveAllowed(target: Target, { rules, resolve }: DialOptions): Promise<ResolvedAddress[]> {
  const { hostname } = target;
  const family = isIP(hostname);
  const addresses = family === 0 ? await resolve(hostname).catch((cause) => Promise.reject(new DialError('no_address', cause))) : [];
  if (family !== 0) addresses.push({ address: hostname, family });
  if (addresses.length === 0) throw new DialError('no_address');
  if (!addresses.every(({ address }) => mayConnect(rules, target, address))) throw new DialError('refused_address');
  return addresses;
}

/** Delay before the next address is tried in parallel, in milliseconds (RFC 8305 section 8). */
const attemptDelayMs = 250;

/**
 * Connects to the first address that answers, without abandoning earlier attempts. Node's own `autoSelectFamily` aborts an attempt when it starts
 * the next, so a one-second handshake would fail if the host also has an address in an unroutable family. The name is not resolved again, so only
 * checked addresses are used.
 */
async function connectFirst({ port }: Target, addresses: ResolvedAddress[], signal: AbortSignal): Promise<Socket> {
  const sockets: Socket[] = [];
  const attempts: Promise<Socket>[] = [];
  for (const { address } of alternateFamilies(addresses)) {
    const socket = connectTcp({ host: address, port, noDelay: true });
    sockets.push(socket);
    attempts.push(opened(socket, 'connect', 'unreachable', signal));
    const isConnected = Promise.any(attempts).then(
      () => true,
      () => false,
    );
    if ((await Promise.race([isConnected, pause(attemptDelayMs, false, { ref: false })])) || signal.aborted) break;
  }
  try {
    const first = await Promise.any(attempts);
    for (const socket of sockets) if (socket !== first) socket.destroy();
    return first;
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

/** Alternates address families (RFC 8305 section 4). */
function alternateFamilies(addresses: ResolvedAddress[]): ResolvedAddress[] {
  const family = addresses[0]?.family;
  const first = addresses.filter((address) => address.family === family);
  const second = addresses.filter((address) => address.family !== family);
  return first.flatMap((address, index) => [address, ...second.slice(index, index + 1)]).concat(second.slice(first.length));
}

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
      // Never removed: an error between two listeners would crash the process.
      socket.on('error', (cause: NodeJS.ErrnoException) =>
        reject(new DialError(cause.code === 'ECONNRESET' ? 'unreachable' : failure, cause)),
      );
      const giveUp = () => socket.destroy();
      signal.addEventListener('abort', giveUp, { once: true });
      socket.once(event, () => {
        signal.removeEventListener('abort', giveUp);
        resolve(socket);
      });
    }),
    'unreachable',
    signal,
  );

const within = <T>(step: Promise<T>, failure: DialFailure, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DialError(failure, signal.reason)), { once: true });
    step.then(resolve, reject);
  });
