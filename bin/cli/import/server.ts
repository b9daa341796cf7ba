import { type Server, Unfit } from './operation.ts';

/** Where the paths of a document are called, if the one who imports it says more than the document. */
export interface Addresses {
  /** takes the place of every server that the document names */
  baseUrl?: string;
  /** where the document was fetched: its relative servers are relative to that */
  documentUrl?: string;
}

/**
 * The address that an operation's path is appended to, without a trailing slash. Of several, the first with https.
 * @throws Unfit where there is none
 */
export function chooseServer(servers: readonly Server[], { baseUrl, documentUrl }: Addresses): string {
  if (baseUrl !== undefined) return trim(baseUrl);
  const candidates = servers.map(({ url, path }) => ({ url: absolute(url ?? '/', documentUrl), path }));
  const found = candidates.find(({ url }) => url?.startsWith('https:')) ?? candidates.find(({ url }) => url !== undefined);
  if (found?.url === undefined) throw new Unfit(servers[0]?.path ?? '/servers', 'has no absolute server address; give one with --base-url');
  return trim(found.url);
}

function absolute(url: string, documentUrl: string | undefined): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url;
  return documentUrl === undefined ? undefined : URL.parse(url, documentUrl)?.href;
}

const trim = (url: string): string => url.replace(/\/+$/, '');
