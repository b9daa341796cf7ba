import { createHash, createHmac } from 'node:crypto';
import type { CredentialValues } from '../credentials/credentials.ts';
import type { UpstreamRequest } from './request.ts';

/** The components that every signature covers, in this order. */
const covered = ['@method', '@target-uri', 'content-digest', 'agent-id', 'agent-key', 'intent-uid', 'execution-id'] as const;

export interface SignedCall {
  request: UpstreamRequest;
  /** the header fields that are signed, by their names in lower case */
  fields: Record<'agent-id' | 'agent-key' | 'intent-uid' | 'execution-id', string>;
  /** names the key, for upstreams that have several */
  serviceId: string;
  /** seconds since the epoch */
  createdSeconds: number;
}

/**
 * The header fields of a signed call: an HTTP Message Signature (RFC 9421) with HMAC-SHA-256, and the digest of the body that it covers (RFC 9530).
 * A keyed hash, because an upstream can check it in a few lines, and because signing with KMS would cost a round trip before each call.
 */
export function signCall(
  { request, fields, serviceId, createdSeconds }: SignedCall,
  { signing_key }: Pick<CredentialValues, 'signing_key'>,
): Record<string, string> {
  const digest = `sha-256=:${createHash('sha256')
    .update(request.body ?? '')
    .digest('base64')}:`;
  const values = { '@method': request.method, '@target-uri': request.url, 'content-digest': digest, ...fields };
  const names = covered.map((name) => `"${name}"`).join(' ');
  const parameters = `(${names});created=${createdSeconds};keyid="${serviceId}";alg="hmac-sha256"`;
  const base = [...covered.map((name) => `"${name}": ${values[name]}`), `"@signature-params": ${parameters}`].join('\n');
  const signature = createHmac('sha256', Buffer.from(signing_key, 'base64url')).update(base).digest('base64');
  return { 'Content-Digest': digest, 'Signature-Input': `gate=${parameters}`, Signature: `gate=:${signature}:` };
}
