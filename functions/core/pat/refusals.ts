import { ApiError } from '../api-error.ts';
import { jwsAlgorithmNames } from './signatures.ts';

export type Refuse = (message: string) => ApiError;

export const invalidSignature: Refuse = (message) => new ApiError('INVALID_SIGNATURE', message);

/** RFC 9449 section 7.1. */
export const invalidProof: Refuse = (message) =>
  new ApiError('UNAUTHORIZED', message, {
    headers: { 'WWW-Authenticate': `DPoP realm="intent-gate", error="invalid_dpop_proof", algs="${jwsAlgorithmNames.join(' ')}"` },
  });
