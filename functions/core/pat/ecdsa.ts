/** Order of the group of P-256 (SEC 2, section 2.4.2). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const halfBytes = 32;

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);

const toBytes = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(2 * halfBytes, '0'), 'hex');

/**
 * Converts a P-256 signature from DER to r||s (RFC 7518 section 3.4). As s and n - s both verify, it returns the lower one, so that a token has
 * only one encoding.
 * @throws TypeError if the bytes are not a strict DER signature with both numbers in range
 */
export function signatureFromDer(der: Uint8Array): Buffer {
  const [r, afterR] = readInteger(der, 2);
  const [s, afterS] = readInteger(der, afterR);
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || afterS !== der.length) throw new TypeError('not a DER signature');
  return Buffer.concat([toBytes(r), toBytes(s > order / 2n ? order - s : s)]);
}

/** @returns the number and the offset of the next element */
function readInteger(der: Uint8Array, at: number): [bigint, number] {
  const length = der[at + 1] ?? 0;
  const bytes = der.subarray(at + 2, at + 2 + length);
  const [first = 0x80, second = 0x80] = bytes;
  const isMinimal = first < 0x80 && (first !== 0 || length === 1 || second >= 0x80);
  const number = toNumber(bytes);
  if (der[at] !== 0x02 || bytes.length !== length || !isMinimal || number < 1n || number >= order)
    throw new TypeError('not a DER signature');
  return [number, at + 2 + length];
}

/** Whether r||s has 64 bytes, both numbers in range, and the lower s. */
export function isCanonicalSignature(signature: Uint8Array): boolean {
  if (signature.length !== 2 * halfBytes) return false;
  const [r, s] = [toNumber(signature.subarray(0, halfBytes)), toNumber(signature.subarray(halfBytes))];
  return r >= 1n && r < order && s >= 1n && s <= order / 2n;
}
