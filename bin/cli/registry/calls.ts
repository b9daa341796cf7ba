import type { FullIntent } from '../../../schemas/intent.ts';

/** Which call an intent makes, whatever its places are called. */
export const callOf = ({ endpoint: { method, url } }: Pick<FullIntent, 'endpoint'>): string =>
  `${method} ${url.replace(/\{[?&][^{}]*\}/g, '').replace(/\{[^{}]*\}/g, '{}')}`;

/** The same call on any host. */
export const pathCallOf = (intent: Pick<FullIntent, 'endpoint'>): string => callOf(intent).replace(/ [^/]*\/\/[^/?#{]*/, ' ');
