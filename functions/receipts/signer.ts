import { generateKeyPairSync, sign } from 'node:crypto';
import { certificateType, type ReceiptClaims, receiptType } from '../../schemas/receipts/receipts.ts';
import { beyondInvocation } from '../core/runtime/invocation.ts';
import type { EvidenceKey } from './evidence-keys.ts';

/** Validity of a certificate, in seconds. Lambda instances do not live that long. */
const certificateSeconds = 7 * 86_400;

/** Minimum remaining validity after `prepare`, in seconds, which covers the duration of a call. */
const reserveSeconds = 3_600;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Opens a signer of receipts with an instance's own key, which a KMS key certifies. */
export function openReceiptSigner(certifier: EvidenceKey, now: () => number) {
  let ready: Awaited<ReturnType<typeof certify>> | undefined;
  let certifying: ReturnType<typeof certify> | undefined;

  async function certify() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { kid } = await certifier.read();
    const iat = Math.floor(now() / 1_000);
    const claims = { iat, exp: iat + certificateSeconds, cnf: { jwk: publicKey.export({ format: 'jwk' }) } };
    const signed = `${encode({ alg: 'EdDSA', typ: certificateType, kid })}.${encode(claims)}`;
    const signature = await certifier.sign(Buffer.from(signed));
    const certificate = `${signed}.${signature.toString('base64url')}`;
    return { key: privateKey, header: encode({ alg: 'EdDSA', typ: receiptType, certificate }), expires: claims.exp };
  }

  return {
    /**
     * Makes sure that the instance has a certified key. Calls KMS for the first receipt of an instance, and then once a week.
     * @throws ApiError SERVICE_UNAVAILABLE
     */
    async prepare(): Promise<void> {
      if (ready && ready.expires - reserveSeconds > now() / 1_000) return;
      certifying ??= beyondInvocation(certify).finally(() => {
        certifying = undefined;
      });
      ready = await certifying;
    },

    /** @returns a compact JWS */
    sign(claims: ReceiptClaims): string {
      if (!ready) throw new Error('no key for receipts has been certified');
      const signed = `${ready.header}.${encode(claims)}`;
      return `${signed}.${sign(null, Buffer.from(signed), ready.key).toString('base64url')}`;
    },
  };
}

export type ReceiptSigner = ReturnType<typeof openReceiptSigner>;
