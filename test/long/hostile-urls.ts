/**
 * Hostile addresses, witnessed at the socket: the relay and the reader of client documents are given URLs that lead inwards, in every spelling, by
 * names that resolve inwards, always, partly or the second time, and by redirects. A witness stands where Node opens connections: it leads a
 * connection to the one public address to an upstream on loopback, refuses every other one, and remembers it. None may have been tried.
 * `node bin/run.js test/long/hostile-urls.ts [--urls 10000] [--seed 1]`
 */

import dns from 'node:dns';
import { connect, Socket } from 'node:net';
import { parseArgs } from 'node:util';
import type { ResolvedAddress } from '../../functions/core/relay/dial.ts';
import { openDocumentReader } from '../../functions/core/relay/fetch-document.ts';
import { callOf, callUpstream, openLocalRelay } from '../support/call-upstream.ts';
import { makeCertificate } from '../support/certificate.ts';
import { chooseWith, seededRandom } from '../support/random.ts';
import { startUpstream } from '../support/upstream.ts';

const { values } = parseArgs({ options: { urls: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } } });
const urls = Number(values.urls);
const random = seededRandom(Number(values.seed));
const { below, pick } = chooseWith(random);

const honestHost = 'honest.example';
const publicAddress = '93.184.215.14';
/** Nobody answers there. */
const otherPublicAddress = '93.184.215.15';

let hostileLocation = 'https://127.0.0.1/';
const certificate = makeCertificate(honestHost);
const upstream = await startUpstream((request, response) => {
  const isRedirect = request.url.startsWith('/redirect');
  const headers = { 'Content-Type': 'application/json', Refresh: `0; url=${hostileLocation}`, Link: `<${hostileLocation}>; rel=preload` };
  response.writeHead(isRedirect ? pick([301, 302, 303, 307, 308]) : 200, { ...headers, Location: hostileLocation }).end('{"ok":true}');
}, certificate);

/** Where connections were tried to, but for those that were allowed. */
const tried: string[] = [];
let allowed = 0;
/** What the upstream's side of an allowed connection calls itself: another address stands for a network that leads it elsewhere. */
let peer = publicAddress;

const { connect: open } = Socket.prototype;
Socket.prototype.connect = function (this: Socket, ...given: unknown[]): Socket {
  const [first, second] = (Array.isArray(given[0]) ? given[0] : given) as unknown[];
  const options = typeof first === 'object' && first !== null ? (first as { host?: string; port?: number; path?: string }) : undefined;
  const { host = 'localhost', port, path } = options ?? { host: String(second ?? 'localhost'), port: Number(first) };
  if (host === publicAddress && Number(port) === 443) {
    allowed++;
    const claimed = peer;
    Object.defineProperty(this, 'remoteAddress', { get: () => claimed });
    return Reflect.apply(open, this, [{ host: '127.0.0.1', port: upstream.port }]);
  }
  tried.push(path ?? `${host}:${port}`);
  process.nextTick(() => this.destroy(new Error('the witness lets nobody through')));
  return this;
};
for (const [owner, name] of [
  [dns, 'lookup'],
  [dns.promises, 'lookup'],
] as const) {
  Object.defineProperty(owner, name, { value: () => Promise.reject(new Error('the witness resolves nothing')) });
}

/** Addresses that nobody outside may reach, as four numbers; no documentation of a network calls them public. */
const inward = (): number[] =>
  pick([
    () => [127, below(256), below(256), below(256)],
    () => [10, below(256), below(256), below(256)],
    () => [172, 16 + below(16), below(256), below(256)],
    () => [192, 168, below(256), below(256)],
    () => [
      169,
      254,
      ...pick([
        [169, 254],
        [170, 2],
        [below(256), below(256)],
      ]),
    ],
    () => [100, 64 + below(64), below(256), below(256)],
    () => [0, below(256), below(256), below(256)],
    () => [192, 0, 0, below(256)],
    () => [198, 18 + below(2), below(256), below(256)],
    () => [224 + below(32), below(256), below(256), below(256)],
  ])();

const hex = (number: number, digits = 1): string => number.toString(16).padStart(digits, '0');
const asNumber = (bytes: number[]): number => bytes.reduce((number, byte) => number * 256 + byte, 0);
const wide = (text: string): string => text.replaceAll(/[0-9a-z]/g, (one) => String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0));
const groups = ([a = 0, b = 0, c = 0, d = 0]: number[]): string => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;

/** An address in one of the spellings that some reader takes for it; IPv6 ones with brackets. */
function spell(bytes: number[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const plain = bytes.join('.');
  const ipv6 = pick([
    `::ffff:${plain}`,
    `::ffff:${groups(bytes)}`,
    `0:0:0:0:0:ffff:${groups(bytes)}`,
    `::ffff:0:${plain}`,
    `::${plain}`,
    `::${groups(bytes)}`,
    `64:ff9b::${plain}`,
    `64:ff9b:1::${groups(bytes)}`,
    `2002:${groups(bytes)}::`,
    `2002:${groups(bytes)}::1`,
    `2001:0:${groups([93, 184, 215, 14])}:0:0:${groups(bytes.map((byte) => 255 - byte))}`,
    `fe80::5efe:${plain}`,
    `fe80::${hex(c)}:${hex(d)}`,
    `fe80::1%25${pick(['eth0', 'lo', '1'])}`,
    `fe80::1%eth0`,
    '::1',
    '::1%25lo',
    '::',
    '0:0:0:0:0:0:0:1',
    `fc00::${hex(d)}`,
    `fd00:ec2::254`,
    `ff02::${hex(d)}`,
    `3fff::${hex(d)}`,
    `2001:db8::${hex(d)}`,
    `100::${hex(d)}`,
  ]);
  return pick([
    plain,
    `[${ipv6}]`,
    `[${ipv6}]`,
    `[${ipv6.toUpperCase()}]`,
    String(asNumber(bytes)),
    String(asNumber(bytes) + 2 ** 32),
    `0x${hex(asNumber(bytes), 8)}`,
    `0X${hex(asNumber(bytes)).toUpperCase()}`,
    `0${asNumber(bytes).toString(8)}`,
    bytes.map((byte) => `0x${hex(byte)}`).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => String(byte).padStart(6, '0')).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${asNumber([b, c, d])}`,
    `${a}.0x${hex(asNumber([b, c, d]))}`,
    wide(plain),
    bytes.join('\u3002'),
    bytes.join('\uff0e'),
    wide(`0x${hex(asNumber(bytes))}`),
    bytes.map((byte) => [...String(byte)].map((digit) => String.fromCodePoint(0x245f + Number(digit) || 0x24ea)).join('')).join('.'),
    `${plain}.`,
    `%${hex(49)}${plain.slice(1)}`,
    [...plain].map((one) => `%${hex(one.codePointAt(0) ?? 0, 2)}`).join(''),
    pick([
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'localhost.localdomain',
      'ip6-localhost',
      'metadata',
      'internal.',
      'loc\u00adalhost',
    ]),
    `${plain}\u200b`,
  ]);
}

/** How a name of the attacker resolves: never to public addresses alone. */
const names = new Map<string, ResolvedAddress[][]>();
function nameOf(bytes: number[]): string {
  const name = `n${names.size}.attacker.example`;
  const plain = bytes.join('.');
  const ipv4 = { address: plain, family: 4 };
  const mapped = {
    address: pick([`::ffff:${plain}`, `64:ff9b::${groups(bytes)}`, `2002:${groups(bytes)}::`, '::1', 'fe80::1%eth0', 'fd00::1']),
    family: 6,
  };
  const good = { address: publicAddress, family: 4 };
  names.set(
    name,
    pick([
      [[ipv4]],
      [[mapped]],
      [[good, ipv4]],
      [[ipv4, good]],
      [[mapped, good]],
      [[good, good, mapped]],
      [[], [ipv4]],
      [[{ address: pick(['', 'localhost', '0x7f000001', '127.1', '127.0.0.1 ', '\u0000', '2130706433', honestHost]), family: 4 }]],
      // rebinding: the first answer is allowed, all later ones lead inwards
      [[good], [ipv4]],
    ]),
  );
  return name;
}

const resolve = async (hostname: string): Promise<ResolvedAddress[]> => {
  if (hostname === honestHost) return [{ address: publicAddress, family: 4 }];
  const rounds = names.get(hostname);
  if (!rounds) throw Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' });
  return (rounds.length > 1 ? rounds.shift() : rounds[0]) ?? [];
};

/** A URL that leads inwards, one way or the other. */
function makeHostile(): string {
  const bytes = inward();
  const host = random() < 0.25 ? nameOf(bytes) : spell(bytes);
  const path = pick(['/', '/latest/meta-data/', '/2018-06-01/runtime/invocation/next', '']);
  return pick([
    `https://${host}${path}`,
    `https://${host}${path}`,
    `https://${host}${path}`,
    `https://${host}:443${path}`,
    `https://${host}:${pick([22, 80, 8080, 9001, 6379, 0, 65_535])}${path}`,
    `http://${host}${path}`,
    `http://${host}:443${path}`,
    `https://${honestHost}@${host}${path}`,
    `https://${honestHost}:443@${host}${path}`,
    `https://${host}#@${honestHost}/`,
    `https://${host}\\@${honestHost}/`,
    `https://${honestHost}\\@${host}/`,
    `https:${host}${path}`,
    `https:/${host}${path}`,
    `https:\\\\${host}${path}`,
    `https://\t${host}${path}`,
    `ht\ntps://${host}${path}`,
    `HTTPS://${host}${path}`,
    `${pick(['ftp', 'file', 'ws', 'wss', 'gopher', 'blob:https', 'data'])}://${host}${path}`,
    `//${host}${path}`,
    // allowed hosts at ports and by schemes that are not
    `http://${honestHost}${path}`,
    `https://${honestHost}:${pick([80, 8443, 22, 4430])}${path}`,
    `https://${otherPublicAddress}${path}`,
    `https://${publicAddress}${path}`,
  ]);
}

const rules = { ports: [443], allowLoopback: false, ownHosts: ['gate.example'] };
const breaker = { secondsToWait: () => 0, record: () => {}, release: () => {} };
const relay = openLocalRelay({ rules, resolve, breaker, trustedCertificate: certificate.cert });
const readDocument = openDocumentReader({ rules, resolve, trustedCertificate: certificate.cert, maxBytes: 10_000, timeoutMs: 5_000 });

const execution = (url: string) => callOf(url, { request: { method: pick(['GET', 'POST']), url } });

const outcomes = { refused: 0, redirects: 0, elsewhere: 0, honest: 0 };
const violations: string[] = [];
const visit = (url: string): Promise<unknown> =>
  random() < 0.8 ? callUpstream(relay, execution(url)) : Promise.resolve().then(() => readDocument(new URL(url), 'https://gate.example'));
const arrived = async (url: string): Promise<boolean> =>
  visit(url).then(
    () => true,
    () => false,
  );

for (let count = 0; count < urls; count++) {
  const url = makeHostile();
  hostileLocation = url.replaceAll(/[^\x21-\x7e]/g, '');
  const before = { allowed, tried: tried.length, seen: upstream.seen.length };
  const way = random();
  if (way < 0.02) {
    // the honest host, whose address the network leads to another one; a connection of before would be reused
    peer = inward().join('.');
    const other = openDocumentReader({ rules, resolve, trustedCertificate: certificate.cert, maxBytes: 10_000, timeoutMs: 5_000 });
    if (
      await other(new URL(`https://${honestHost}/`), 'https://gate.example').then(
        () => true,
        () => false,
      )
    )
      violations.push(`led to ${peer}`);
    if (upstream.seen.length > before.seen) violations.push(`sent to ${peer}`);
    peer = publicAddress;
    outcomes.elsewhere++;
  } else if (way < 0.06) {
    await arrived(`https://${honestHost}/redirect`);
    if (upstream.seen.length !== before.seen + 1)
      violations.push(`a redirect to ${hostileLocation} made ${upstream.seen.length - before.seen} requests`);
    outcomes.redirects++;
  } else if (way < 0.08) {
    if (!(await arrived(`https://${honestHost}/`))) violations.push('the honest host was not reached');
    outcomes.honest++;
  } else {
    const seen = upstream.seen.length;
    await arrived(url);
    // a name that resolves to the public address first may be connected to; its certificate is another's
    if (upstream.seen.length > seen && !url.includes(honestHost)) violations.push(`${url} was called`);
    outcomes.refused++;
  }
  if (tried.length > before.tried) violations.push(`${JSON.stringify(url)} led to ${tried.slice(before.tried).join()}`);
}

// the witness has to see what it is there for
const seen = tried.length;
connect(443, '10.0.0.1').on('error', () => {});
connect({ host: '169.254.169.254', port: 80 }).on('error', () => {});
if (tried.length !== seen + 2) violations.push('the witness saw nothing of two connections that were planted');
relay.close();
await upstream.stop();

const { refused, redirects, elsewhere, honest } = outcomes;
console.log(
  `${urls} URLs: ${refused} that lead inwards, ${redirects} redirects inwards, ${elsewhere} connections led elsewhere, ${honest} honest`,
);
console.log(`${allowed} connections to the one public address, ${violations.length} violations`);
for (const violation of violations.slice(0, 20)) console.log(violation);
process.exit(violations.length > 0 ? 1 : 0);
