import { DocumentError } from './document.ts';
import { list, type Node, node, pathOf, text, Unfit, written } from './node.ts';
import { encodeLiteral } from './text.ts';

export interface Addresses {
  /** replaces the servers of the document itself, not those of its paths and operations */
  baseUrl?: string | undefined;
  documentUrl?: string | undefined;
}

/** Whether an operation, a path item or the document has servers of its own. */
export const hasServers = ({ servers }: Node): boolean => !Array.isArray(servers ?? []) || list(servers).length > 0;

/**
 * The base URL of the paths, without a trailing slash. Prefers https. Relative servers are relative to `baseUrl`, else to the document.
 * @param levels - the operation, its path item and the document; the first with servers counts
 * @throws Unfit if the document gives no absolute address
 */
export function chooseServer(levels: readonly Node[], { baseUrl, documentUrl }: Addresses): string {
  const level = levels.find(hasServers);
  const isOwn = level !== undefined && level !== levels.at(-1);
  if (baseUrl !== undefined && !isOwn) return trim(baseUrl);
  const remedy = isOwn ? 'correct the document' : 'give the address with --base-url';
  if (level !== undefined && !Array.isArray(level.servers))
    throw new Unfit(`${pathOf(level)}/servers`, `has servers that are not a list; ${remedy}`);
  const servers = level === undefined ? [{ url: '/' }] : list(level.servers).map(node);
  const addresses = servers.map(readAddress);
  const urls = addresses.map((address) => resolveAddress(address, baseUrl ?? documentUrl)).filter((url) => url !== undefined);
  const url = urls.find((candidate) => candidate.startsWith('https:')) ?? urls[0];
  if (url !== undefined) return trim(url);
  const path = pathOf(servers[0]) === '' ? pathOf(levels[0]) : `${pathOf(servers[0])}/url`;
  const [variable] = addresses.flatMap((address) => /\{([^{}]+)\}/.exec(address)?.[1] ?? []);
  if (variable === undefined)
    throw new Unfit(path, `has no absolute server address; ${baseUrl === undefined ? 'give one with --base-url' : remedy}`);
  throw new Unfit(path, `has the server variable ${variable} without a default; ${remedy}`);
}

const readAddress = ({ url, variables }: Node): string =>
  (text(url) ?? '').trim().replace(/\{([^{}]+)\}/g, (place, name: string) => written(node(node(variables)[name]).default) ?? place);

/** Resolves an address by RFC 3986, section 5; undefined if it has a variable or parsers could find different hosts in it. */
function resolveAddress(address: string, base: string | undefined): string | undefined {
  if (address === '' || address.includes('{')) return undefined;
  if (/^[a-z][a-z0-9+.-]*:/i.test(address)) {
    const [, host = '', path = ''] = /^(https?:\/\/[^/\\?#]+)(.*)$/is.exec(address) ?? [];
    return host !== '' && URL.canParse(address) && !/\p{Cc}/u.test(address) ? host + encodeLiteral(path) : undefined;
  }
  return /^\/{3}|[\\\t\n\r]/.test(address) || base === undefined ? undefined : URL.parse(address, base)?.href;
}

const trim = (url: string): string => url.replace(/(?<!\/)\/+$/, '');

/** @throws DocumentError */
export function requireBaseUrl(url: string): void {
  if (/^https?:\/\/[^/?#@{}\\\s]+(\/[^?#{}\\\s]*)?$/i.test(url) && URL.canParse(url)) return;
  throw new DocumentError(
    '--base-url needs an http or https address without user information, query, fragment or variables, for example https://api.example.com/v1.',
  );
}
