import { list, type Node, node, pathOf, text, Unfit, written } from './node.ts';

export interface Addresses {
  /** overrides the document's servers */
  baseUrl?: string | undefined;
  /** base of relative servers */
  documentUrl?: string | undefined;
}

/**
 * The base URL of the paths, without a trailing slash. Prefers https.
 * @param levels - the operation, its path item and the document; the first with servers counts
 */
export function chooseServer(levels: readonly Node[], { baseUrl, documentUrl }: Addresses): string {
  if (baseUrl !== undefined) return trim(baseUrl);
  const servers = levels.map(({ servers }) => list(servers)).find(({ length }) => length > 0) ?? [{ url: '/' }];
  const urls = servers.map((server) => absolute(readUrl(node(server)), documentUrl)).filter((url) => url !== undefined);
  const url = urls.find((candidate) => candidate.startsWith('https:')) ?? urls[0];
  if (url === undefined) throw new Unfit(`${pathOf(servers[0])}/url`, 'has no absolute server address; give one with --base-url');
  return trim(url);
}

const readUrl = ({ url, variables }: Node): string =>
  (text(url) ?? '/').replace(/\{([^}]+)\}/g, (place, name: string) => written(node(node(variables)[name]).default) ?? place);

/** @returns undefined also if the host has a variable without a default */
function absolute(url: string, documentUrl: string | undefined): string | undefined {
  const [, host] = /^[a-z][a-z0-9+.-]*:\/\/([^/]*)/i.exec(url) ?? [];
  if (host !== undefined) return host.includes('{') ? undefined : url;
  return documentUrl === undefined ? undefined : URL.parse(url, documentUrl)?.href;
}

const trim = (url: string): string => url.replace(/\/+$/, '');
