import type { FullIntent } from '../schemas/intent.ts';

/** The call that an intent makes, whatever its path parameters are called. */
export const callOf = ({ endpoint: { method, url } }: Pick<FullIntent, 'endpoint'>): string =>
  `${method} ${url.replace(/\{[?&][^{}]*\}/g, '').replace(/\{[^{}]*\}/g, '{}')}`;

/** The same call on any host. */
export const pathCallOf = (intent: Pick<FullIntent, 'endpoint'>): string => callOf(intent).replace(/ [^/]*\/\/[^/?#{]*/, ' ');
