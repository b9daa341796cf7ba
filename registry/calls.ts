import type { FullIntent } from '../schemas/intent.ts';

/** The method and URL template of an intent, without query variables and with path variables unnamed. */
export const callOf = ({ endpoint: { method, url } }: Pick<FullIntent, 'endpoint'>): string =>
  `${method} ${url.replace(/\{[?&][^{}]*\}/g, '').replace(/\{[^{}]*\}/g, '{}')}`;

/** The same call on any host. */
export const pathCallOf = (intent: Pick<FullIntent, 'endpoint'>): string => callOf(intent).replace(/ [^/]*\/\/[^/?#{]*/, ' ');
