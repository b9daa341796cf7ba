import { createHash, createPublicKey, verify } from 'node:crypto';

/** The signature type of Ed25519 (C2SP signed-note). */
const ed25519 = Uint8Array.of(1);

/** Name and public key for verifying the notes of a log. */
export interface Verifier {
  /** name of both the log and its key */
  origin: string;
  /** Ed25519, 32 bytes */
  publicKey: Uint8Array;
}

const keyId = ({ origin, publicKey }: Verifier): Buffer =>
  createHash('sha256').update(`${origin}\n`).update(ed25519).update(publicKey).digest().subarray(0, 4);

/** The verifier key in signed-note format: name, key id and key. */
export const verifierKey = (verifier: Verifier): string =>
  `${verifier.origin}+${keyId(verifier).toString('hex')}+${Buffer.concat([ed25519, verifier.publicKey]).toString('base64')}`;

/** Signs a checkpoint (C2SP tlog-checkpoint) as a note. */
export async function signCheckpoint(
  verifier: Verifier,
  size: number,
  root: Uint8Array,
  sign: (text: Buffer) => Promise<Uint8Array>,
): Promise<string> {
  const text = `${verifier.origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
  const signature = Buffer.concat([keyId(verifier), await sign(Buffer.from(text))]);
  return `${text}\n— ${verifier.origin} ${signature.toString('base64')}\n`;
}

/** The size of the log at a checkpoint. @throws Error if the log's key did not sign it */
export function readCheckpoint({ origin, publicKey }: Verifier, checkpoint: string): number {
  const [text = '', signature = ''] = checkpoint.split(`\n— ${origin} `);
  const [name, size] = text.split('\n');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') }, format: 'jwk' });
  const isGenuine = name === origin && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64').subarray(4));
  if (!isGenuine) throw new Error('the checkpoint in the bucket is not signed by the key of the log');
  return Number(size);
}

/** A proof that an entry is in a log (C2SP tlog-proof). */
export const inclusionNote = (index: number, path: readonly Uint8Array[], checkpoint: string): string =>
  [`c2sp.org/tlog-proof@v1`, `index ${index}`, ...path.map((hash) => Buffer.from(hash).toString('base64')), '', checkpoint].join('\n');
