import { ApiError } from '../api-error.ts';
import { jwsAlgorithmNames } from './signatures.ts';

/** Makes a refusal from a message that says what is wrong and what to do. */
export type Refuse = (message: string) => ApiError;

/** 400: the signed policy, a claim in it, or the proof sent with the request does not hold. */
export const invalidSignature: Refuse = (message) => new ApiError('INVALID_SIGNATURE', message);

/** 401 for a proof of possession that does not hold (RFC 9449 section 7.1). */
export const invalidProof: Refuse = (message) =>
  new ApiError('UNAUTHORIZED', message, {
    headers: { 'WWW-Authenticate': `DPoP realm="intent-gate", error="invalid_dpop_proof", algs="${jwsAlgorithmNames.join(' ')}"` },
  });
