import { hash, randomBytes, sign } from 'node:crypto';
import type { OutgoingCall } from '../core/relay/headers.ts';
import type { CallKey } from './call-keys.ts';

/** Tolerated clock skew of verifiers, in seconds: backdates `created` and extends `expires`. */
const clockSkewSeconds = 300;
/** Time for delivery, in seconds, by which `expires` is extended further. */
const deliverySeconds = 60;

/** Path of the directory of public keys, relative to the address in `Signature-Agent`. */
export const directoryPath = '/.well-known/http-message-signatures-directory';
export const directoryMediaType = 'application/http-message-signatures-directory+json';

/** Header fields that a signature covers if the call has them. */
const coveredFields = [
  'content-digest',
  'content-type',
  'idempotency-key',
  'agent-id',
  'agent-key',
  'agent-domain',
  'intent-uid',
  'execution-id',
];

interface Components {
  /** component identifiers as RFC 9421 section 2 serializes them, with their values */
  values: readonly (readonly [identifier: string, value: string])[];
  tag: string;
  nowMs: number;
}

/** Creates one member of `Signature-Input` and of `Signature` (RFC 9421 section 4). */
function signComponents({ values, tag, nowMs }: Components, { key, keyid }: CallKey): { input: string; signature: string } {
  const seconds = Math.floor(nowMs / 1_000);
  const times = `created=${seconds - clockSkewSeconds};expires=${seconds + clockSkewSeconds + deliverySeconds}`;
  const names = values.map(([identifier]) => identifier).join(' ');
  const input = `(${names});${times};nonce="${randomBytes(64).toString('base64')}";keyid="${keyid}";alg="ed25519";tag="${tag}"`;
  const base = [...values.map(([identifier, value]) => `${identifier}: ${value}`), `"@signature-params": ${input}`].join('\n');
  return { input, signature: `:${sign(undefined, Buffer.from(base), key).toString('base64')}:` };
}

/**
 * The header fields that authenticate a call: an HTTP Message Signature (RFC 9421) in the profile of Web Bot Auth
 * (draft-ietf-webbotauth-httpsig-protocol), and the body digest that it covers (RFC 9530). Verifiers find the keys below the gate's address.
 */
export function signCall({ method, url, body, fields, baseUrl }: OutgoingCall, key: CallKey, nowMs = Date.now()): Record<string, string> {
  const digest = body === undefined ? {} : { 'content-digest': `sha-256=:${hash('sha256', body, 'base64')}:` };
  // the member of the dictionary has the label of the signature that covers it
  const agent = `"${baseUrl}"`;
  const all: Record<string, string> = { ...fields, ...digest };
  const values = [
    ...[['"@method"', method] as const, ['"@authority"', url.host] as const, ['"@target-uri"', url.href] as const],
    ...coveredFields.flatMap((name) => (all[name] === undefined ? [] : [[`"${name}"`, all[name]] as const])),
    ['"signature-agent";key="gate"', agent] as const,
  ];
  const { input, signature } = signComponents({ values, tag: 'web-bot-auth', nowMs }, key);
  return { ...digest, 'signature-agent': `gate=${agent}`, 'signature-input': `gate=${input}`, signature: `gate=${signature}` };
}

/** Signs the key directory for this host with each of its keys (draft-meunier-http-message-signatures-directory section 5.2). */
export function signDirectory(host: string, keys: readonly CallKey[], nowMs = Date.now()): Record<string, string> {
  const components: Components = { values: [['"@authority";req', host]], tag: 'http-message-signatures-directory', nowMs };
  const signed = keys.map((key) => signComponents(components, key));
  const list = (part: keyof (typeof signed)[number]) => signed.map((one, at) => `key${at}=${one[part]}`).join(', ');
  return { 'Signature-Input': list('input'), Signature: list('signature') };
}
