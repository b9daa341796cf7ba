import { BlockList, isIP } from 'node:net';

export interface SpecialRange {
  cidr: string;
  name: string;
  source: string;
}

/** IANA IPv4 Special-Purpose Address Registry, and multicast. All are refused as endpoints, even those that the registry calls reachable. */
export const specialIPv4: readonly SpecialRange[] = [
  { cidr: '0.0.0.0/8', name: 'this network', source: 'RFC 791' },
  { cidr: '10.0.0.0/8', name: 'private use', source: 'RFC 1918' },
  { cidr: '100.64.0.0/10', name: 'shared address space', source: 'RFC 6598' },
  { cidr: '127.0.0.0/8', name: 'loopback', source: 'RFC 1122' },
  { cidr: '169.254.0.0/16', name: 'link local, instance metadata', source: 'RFC 3927' },
  { cidr: '172.16.0.0/12', name: 'private use', source: 'RFC 1918' },
  { cidr: '192.0.0.0/24', name: 'IETF protocol assignments', source: 'RFC 6890' },
  { cidr: '192.0.2.0/24', name: 'documentation', source: 'RFC 5737' },
  { cidr: '192.31.196.0/24', name: 'AS112', source: 'RFC 7535' },
  { cidr: '192.52.193.0/24', name: 'automatic multicast tunnelling', source: 'RFC 7450' },
  { cidr: '192.88.99.0/24', name: '6to4 relay anycast', source: 'RFC 7526' },
  { cidr: '192.168.0.0/16', name: 'private use', source: 'RFC 1918' },
  { cidr: '192.175.48.0/24', name: 'AS112', source: 'RFC 7534' },
  { cidr: '198.18.0.0/15', name: 'benchmarking', source: 'RFC 2544' },
  { cidr: '198.51.100.0/24', name: 'documentation', source: 'RFC 5737' },
  { cidr: '203.0.113.0/24', name: 'documentation', source: 'RFC 5737' },
  { cidr: '224.0.0.0/4', name: 'multicast', source: 'RFC 5771' },
  { cidr: '240.0.0.0/4', name: 'reserved, limited broadcast', source: 'RFC 1112' },
];

/** The global unicast addresses of IPv6 (RFC 4291 section 2.4). All others are refused. */
const globalIPv6 = '2000::/3';

/** Entries of the IANA IPv6 Special-Purpose Address Registry inside 2000::/3. Ranges that embed IPv4 addresses are refused as a whole. */
export const specialIPv6: readonly SpecialRange[] = [
  { cidr: '2001::/23', name: 'IETF protocol assignments, Teredo', source: 'RFC 2928' },
  { cidr: '2001:db8::/32', name: 'documentation', source: 'RFC 3849' },
  { cidr: '2002::/16', name: '6to4', source: 'RFC 3056' },
  { cidr: '2620:4f:8000::/48', name: 'AS112', source: 'RFC 7534' },
  { cidr: '3fff::/20', name: 'documentation', source: 'RFC 9637' },
];

/** Private networks of homes, offices and container engines. */
const localNetworks = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** Cloud metadata services inside these networks (AWS, Google Cloud, Alibaba Cloud); all others are link local. */
const metadataNetworks = ['100.100.100.200/32', 'fd00:ec2::/32', 'fd20:ce::/32'];

interface Address {
  text: string;
  family: 'ipv4' | 'ipv6';
}

function matcherOf(cidrs: readonly string[]): (address: Address) => boolean {
  const ranges = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits] = cidr.split('/');
    ranges.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
  }
  return ({ text, family }) => ranges.check(text, family);
}

const isLoopback = matcherOf(['127.0.0.0/8', '::1/128']);
const isGlobalIPv6 = matcherOf([globalIPv6]);
const isSpecial = matcherOf([...specialIPv4, ...specialIPv6].map(({ cidr }) => cidr));
const isLocal = matcherOf(localNetworks);
const isMetadata = matcherOf(metadataNetworks);

/** Whether a text is an IP address, without brackets, rather than a name. */
export const isAddress = (text: string): boolean => isIP(text) !== 0;

export type AddressKind = 'public' | 'loopback' | 'special';

/**
 * Classifies an address by its bytes: `public` is global unicast that no special-purpose registry lists. An IPv4-mapped IPv6 address counts as the
 * IPv4 address in it. A text that is not an address, or that has a zone, is `special`.
 */
export function classifyAddress(text: string): AddressKind {
  const address = readAddress(text);
  if (address === undefined) return 'special';
  if (isLoopback(address)) return 'loopback';
  const isGlobal = address.family === 'ipv4' || isGlobalIPv6(address);
  return isGlobal && !isSpecial(address) ? 'public' : 'special';
}

/** Whether an address is on a local network, and not a metadata service. */
export function isOnLocalNetwork(text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && isLocal(address) && !isMetadata(address);
}

function readAddress(text: string): Address | undefined {
  if (!isAddress(text) || text.includes('%')) return undefined;
  if (!text.includes(':')) return { text, family: 'ipv4' };
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, ...mapped] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ?? [];
  if (mapped.length === 0) return { text: canonical, family: 'ipv6' };
  const bytes = mapped.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
  return { text: bytes.join('.'), family: 'ipv4' };
}
