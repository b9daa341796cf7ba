import type { FullIntent } from '../schemas/intent.ts';

/** The method and URL template of an intent, without query variables and with path variables unnamed; of a tool of an MCP server, with its name. */
export const callOf = ({ endpoint: { method, url, mcp } }: Pick<FullIntent, 'endpoint'>): string =>
  `${method} ${url.replace(/\{[?&][^{}]*\}/g, '').replace(/\{[^{}]*\}/g, '{}')}${mcp ? `#${mcp.tool}` : ''}`;

/** The same call on any host. */
export const pathCallOf = (intent: Pick<FullIntent, 'endpoint'>): string => callOf(intent).replace(/ [^/]*\/\/[^/?#{]*/, ' ');
