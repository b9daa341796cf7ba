import { hash } from 'node:crypto';
import type { PatClaims } from '../../../schemas/pat.ts';
import type { UsedJtis } from '../activity/used-jti.ts';
import type { ApiRequest } from '../http/request.ts';
import { isObject } from '../json/json.ts';
import { ApiError } from '../runtime/api-error.ts';
import { importJwk } from './agent-key.ts';
import { checkIssuedAt, checkJti } from './freshness.ts';
import { readJson, readJws } from './jws.ts';
import { invalidSignature, type Refuse } from './refusals.ts';
import { jwsAlgorithmNames, verifyJwsSignature } from './signatures.ts';

/** Proofs of possession (RFC 9449): a signature over each request with the key that the PAT is bound to. */
export type Proofs = ReturnType<typeof openProofs>;

export interface CheckedProof {
  /**
   * Marks the jti as used with one write, before the request takes effect. Does nothing after a success.
   * @throws ApiError if the proof has been used before
   */
  use(): Promise<void>;
}

interface Expected {
  thumbprint: string;
  token?: string;
  nowMs: number;
  refuse: Refuse;
}

const what = 'DPoP proof';

/** RFC 9449 section 7.1. */
const invalidProof: Refuse = (message) =>
  new ApiError('UNAUTHORIZED', message, {
    headers: { 'WWW-Authenticate': `DPoP realm="intent-gate", error="invalid_dpop_proof", algs="${jwsAlgorithmNames.join(' ')}"` },
  });

export function openProofs(usedJtis: UsedJtis, isRequired: boolean) {
  async function check(request: ApiRequest, proof: string, expected: Expected): Promise<CheckedProof> {
    const { refuse, thumbprint } = expected;
    const { jti, expiresAt } = await verifyProof(proof, request, expected);
    let isUsed = false;
    return {
      use: async () => {
        if (isUsed) return;
        if (!(await usedJtis.consume(`proof:${thumbprint}`, jti, expiresAt))) {
          throw refuse(`The jti of the ${what} has been used before. Make a new proof for every request.`);
        }
        isUsed = true;
      },
    };
  }

  return {
    /**
     * Checks the proof sent with a PAT request, if there is one or the deployment requires it. Writes nothing.
     * @throws ApiError INVALID_SIGNATURE
     */
    async checkAtIssue(request: ApiRequest, thumbprint: string, nowMs: number): Promise<CheckedProof | undefined> {
      const proof = request.header('dpop');
      if (proof !== undefined) return check(request, proof, { thumbprint, nowMs, refuse: invalidSignature });
      if (isRequired)
        throw invalidSignature('This gate requires proof of possession. Send a DPoP header (RFC 9449) made with agent_public_key.');
      return undefined;
    },

    /**
     * Checks the proof sent with a PAT. It is required if the PAT or the deployment says so, or if the scheme is `DPoP`; if one is sent, it is
     * always checked. PATs of signed-in people are not bound to a key, so they cannot be used with a proof. Writes nothing.
     * @throws ApiError UNAUTHORIZED
     */
    async checkAtUse(request: ApiRequest, token: string, claims: PatClaims, nowMs: number): Promise<CheckedProof | undefined> {
      const proof = request.header('dpop');
      const [credential = ''] = request.headerValues('authorization');
      const isNeeded = isRequired || /^dpop /i.test(credential);
      if ('cnf' in claims) {
        const { jkt: thumbprint } = claims.cnf;
        if (proof !== undefined) return check(request, proof, { thumbprint, token, nowMs, refuse: invalidProof });
        if (!isNeeded && !claims.dpop) return undefined;
        throw invalidProof('The PAT is bound to its key. Send a DPoP header (RFC 9449) made with that key and this PAT.');
      }
      if (proof === undefined && !isNeeded) return undefined;
      throw invalidProof(
        isRequired
          ? 'This gate requires proof of possession, and the PAT is bound to no key. Get one for a key of your own with POST /api/pat/issue.'
          : 'The PAT is bound to no key, so no proof can go with it. Send it as Authorization: Bearer, without a DPoP header.',
      );
    },
  };
}

/**
 * Verifies a proof by RFC 9449 section 4.3, except for replays.
 * @returns its jti, and when the proof expires, in seconds since the epoch
 */
async function verifyProof(
  proof: string,
  { method, baseUrl, path }: ApiRequest,
  { thumbprint, token, nowMs, refuse }: Expected,
): Promise<{ jti: string; expiresAt: number }> {
  const { header, headerSegment, payloadSegment, signature } = readJws(proof, what, refuse);
  const { alg, typ, crit, jwk } = header;
  if (typ !== 'dpop+jwt' || typeof alg !== 'string' || crit !== undefined) {
    throw refuse(`The header of the ${what} must have the typ dpop+jwt, an alg and a jwk, and no crit. Make it again.`);
  }
  const key = importJwk(jwk, (problem) => refuse(`The jwk of the ${what} ${problem}.`));
  if (!verifyJwsSignature(alg, key, Buffer.from(`${headerSegment}.${payloadSegment}`), signature)) {
    throw refuse(`The signature of the ${what} does not verify with the jwk in its header. Make it again.`);
  }
  if (key.thumbprint !== thumbprint) throw refuse(`The ${what} was not made with the key that the agent presented. Use that key.`);

  const payload = readJson(Buffer.from(payloadSegment, 'base64url'));
  const { htm, htu, ath, iat, jti } = isObject(payload) ? payload : {};
  if (htm !== method || typeof htu !== 'string' || normalizeTarget(htu) !== normalizeTarget(baseUrl + path)) {
    throw refuse(`The htm and htu of the ${what} must be the method and the address of this request. Make it again.`);
  }
  if (token !== undefined && ath !== hash('sha256', token, 'base64url')) {
    throw refuse(`The ath of the ${what} must be the SHA-256 of the PAT that it is sent with, in base64url. Make it again.`);
  }
  return { jti: checkJti(jti, what, refuse), expiresAt: checkIssuedAt(iat, what, nowMs, refuse) };
}

/** RFC 9449 section 4.3: without query and fragment, normalised as a URL. */
function normalizeTarget(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url) return undefined;
  url.search = '';
  url.hash = '';
  return url.href;
}
