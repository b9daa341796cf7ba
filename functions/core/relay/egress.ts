import { readEnvironment, splitList } from '../runtime/environment.ts';
import { classifyAddress, isAddress, isOnLocalNetwork } from './addresses.ts';

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

export interface EgressRules {
  /** allowed ports for https */
  ports: number[];
  /** also allows http, every port, and loopback addresses; local development only */
  allowLoopback: boolean;
  /** hosts on the developer's network, callable over http and at any port; local development only */
  localUpstreams?: readonly string[];
  /** the only origins that may resolve to private addresses in production, with their ports */
  privateOrigins?: readonly string[];
  /** the gate's own hosts, with non-default ports; never called */
  ownHosts: string[];
}

export function readEgressRules(variables: {
  egressPorts?: string;
  egressLoopback?: string;
  localUpstreams?: string;
  privateOrigins?: string;
  baseUrl?: string;
}): EgressRules {
  const ports = [...new Set([443, ...splitList(variables.egressPorts).map(Number)])];
  const wrong = ports.filter((port) => !Number.isInteger(port) || port < 1 || port > 65_535);
  if (wrong.length > 0) throw new TypeError('the egress ports must be whole numbers from 1 to 65535, separated by commas');
  return {
    ports,
    allowLoopback: variables.egressLoopback === 'true',
    ...(variables.localUpstreams !== undefined && { localUpstreams: splitList(variables.localUpstreams) }),
    ...(variables.privateOrigins !== undefined && { privateOrigins: splitList(variables.privateOrigins) }),
    ownHosts: splitList(variables.baseUrl).map((url) => new URL(url).host),
  };
}

export const egressRulesFromEnvironment = (): EgressRules =>
  readEgressRules(readEnvironment([], ['egressPorts', 'egressLoopback', 'localUpstreams', 'privateOrigins', 'baseUrl']));

/** Adds the host of the current request to the gate's own hosts. */
export const withOwnHost = (rules: EgressRules, baseUrl: string): EgressRules => ({
  ...rules,
  ownHosts: [...rules.ownHosts, new URL(baseUrl).host],
});

/** Whether the settings allow a target on a private network. */
const mayBePrivate = ({ localUpstreams = [], privateOrigins = [] }: EgressRules, target: Target): boolean =>
  localUpstreams.includes(target.hostname) || privateOrigins.some((origin) => isSameTarget(targetOf(new URL(origin)), target));

const isSameTarget = (one: Target, other: Target): boolean =>
  one.protocol === other.protocol && one.hostname === other.hostname && one.port === other.port;

/** Whether a connection to this address is allowed. Checked for every resolved address and for the connected peer. */
export function mayConnect(rules: EgressRules, { protocol, hostname, port }: Target, address: string): boolean {
  const kind = classifyAddress(address);
  if (kind === 'loopback') return rules.allowLoopback;
  if (mayBePrivate(rules, { protocol, hostname, port })) return kind === 'public' || isOnLocalNetwork(address);
  return kind === 'public' && protocol === 'https:' && rules.ports.includes(port);
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const registeredName = new RegExp(`^(?:${label}\\.)+${label}$`);
const authority = /^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?:0|[1-9][0-9]{0,4}))?$/i;

/**
 * Problems of an endpoint's scheme, host and port, as sentences that begin with "must". `address` is a URL as written, or its beginning. Ambiguous
 * spellings are refused, so that the checked host is the called host.
 */
export function checkOrigin(address: string, rules: EgressRules): string[] {
  const [origin] = /^[^/]*\/*[^/?#]*/.exec(address) ?? [''];
  const [, host = ''] = authority.exec(origin) ?? [];
  const parsed = URL.parse(origin);
  const isNamed = parsed !== null && mayBePrivate(rules, targetOf(parsed));
  const isLocal = rules.allowLoopback || isNamed;
  if (!(isLocal ? /^https?:\/\//i : /^https:\/\//i).test(origin)) return ['must begin with https://'];
  if (origin.includes('@')) return ['must not contain user information'];
  if (host === '' || parsed === null)
    return ['must name its host in ASCII letters, digits, hyphens and dots, and its port in digits without leading zeros'];
  const problems: string[] = [];
  if (parsed.hostname !== host.toLowerCase()) problems.push('must spell its host in the canonical form');
  else if (!isCallableHost(parsed.hostname, isNamed, rules))
    problems.push('must name its host by a full public domain name, not by an address or a local name');
  if (rules.ownHosts.includes(parsed.host)) problems.push('must not lead back to this gate');
  const { port } = targetOf(parsed);
  if (!isLocal && !rules.ports.includes(port)) problems.push(`must use port ${rules.ports.join(' or ')}`);
  else if (port === 0) problems.push('must not use port 0');
  return problems;
}

/** Whether a host is loopback, so that http to it crosses no network. */
export function isLoopbackHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isAddress(address) ? classifyAddress(address) === 'loopback' : /(^|\.)localhost$/.test(hostname);
}

function isCallableHost(hostname: string, isNamed: boolean, rules: EgressRules): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isNamed && !isAddress(address)) return true;
  if (address.startsWith('::ffff:')) return false;
  if (isLoopbackHost(hostname)) return rules.allowLoopback;
  if (isAddress(address)) return isNamed && isOnLocalNetwork(address);
  return hostname.length <= 253 && registeredName.test(hostname);
}
