import * as z from 'zod';
import { isAddress, isOnLocalNetwork } from '../../functions/core/relay/addresses.ts';
import { isLoopbackHost, targetOf } from '../../functions/core/relay/egress.ts';

/** The stage of `npm start`, which needs no entry in cdk.json. */
export const localStage = 'local';

/** Accepts strings from the command line (`-c name=value`) and values from cdk.json. */
export const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], 'must be true or false');

export const wholeNumber = (minimum: number, maximum: number) => {
  const problem = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], problem)
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum, problem)
    .meta({ minimum, maximum });
};

/** A list in cdk.json, or comma-separated text. */
export const list = <T extends z.ZodType>(entry: T) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value),
    z.array(entry, 'must be a list'),
  );

export const object = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  }, schema);

export const isHttpsOrigin = (text: string) => URL.canParse(text) && new URL(text).protocol === 'https:' && new URL(text).origin === text;

/** Whether a string is a host name or a private address in canonical spelling. */
export function isLocalUpstream(text: string): boolean {
  const url = URL.parse(`http://${isAddress(text) && text.includes(':') ? `[${text}]` : text}`);
  const isName = !isAddress(text) && /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(text);
  return url !== null && targetOf(url).hostname === text && (isName || isOnLocalNetwork(text));
}

/** What a string violates as an origin that may lead to a private network, starting with "must"; undefined if it is valid. */
export function findOriginProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (text.includes('*')) return 'must name one host: wildcards are not supported';
  if (url?.protocol !== 'https:') return 'must begin with https://';
  if (url.hostname.endsWith('.') || url.origin !== text)
    return 'must be an origin such as https://orders.internal:8443, in lower case, without path, default port or dot after the host';
  if (isLoopbackHost(url.hostname)) return 'must not name this machine';
  const { hostname } = targetOf(url);
  return !isAddress(hostname) || isOnLocalNetwork(hostname)
    ? undefined
    : 'must name a host, or an address of a private network that is not link-local, unspecified or of a metadata service';
}

/** Whether an address is in the canonical spelling, which PATs and policies use. */
export function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    text === `${url.origin}${url.pathname.replace(/\/$/, '')}` &&
    !url.hostname.endsWith('.')
  );
}

export const keyArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[a-zA-Z0-9-]+$/, 'must be the ARN of a KMS key, not of an alias');
