import { randomBytes } from 'node:crypto';
import { CompactSign, calculateJwkThumbprint, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import { type PatClaims, patClaims } from '../../schemas/pat.ts';
import { DemoFailure } from './call.ts';

/** An agent with a key of its own that nobody has seen before. */
export interface Agent {
  id: string;
  publicKeyPem: string;
  /** RFC 7638, of the public key */
  thumbprint: string;
  /** compact JWS, ES256, whose payload is the document as JSON */
  sign(document: unknown): Promise<string>;
}

export async function createAgent(): Promise<Agent> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  return {
    id: `demo-agent-${randomBytes(4).toString('hex')}`,
    publicKeyPem: await exportSPKI(publicKey),
    thumbprint: await calculateJwkThumbprint(await exportJWK(publicKey)),
    sign: (document) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(document))).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
  };
}

const decodeSegment = (segment = ''): unknown => JSON.parse(Buffer.from(segment, 'base64url').toString());

/** The claims of a PAT, unverified: the agent only looks at what it was given. */
export function readClaims(pat: string): PatClaims {
  const { success, data } = patClaims.safeParse(decodeSegment(pat.split('.')[1]));
  if (!success) throw new DemoFailure('The PAT does not carry the claims of the specification (section 2.4).');
  return data;
}

/** The PAT with more rights written into its claims, under the old signature. */
export function tamper(pat: string): string {
  const [header, payload, signature] = pat.split('.');
  const claims = { ...(decodeSegment(payload) as PatClaims), sub: 'somebody-else', lmt: { rate: 1_000_000, period: 1 } };
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
}
