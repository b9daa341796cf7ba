import type { ErrorCode } from '../../../schemas/errors.ts';
import type { ApiResponse } from '../http/response.ts';
import { pack, unpack } from '../json/pack.ts';
import { ApiError, type ApiErrorOptions } from '../runtime/api-error.ts';

export type Outcome = ApiResponse | ApiError;

type PackedOutcome = { response: ApiResponse } | { error: { code: ErrorCode; message: string } & ApiErrorOptions };

/** Serialises an outcome. A refusal is stored in parts, because the final body names the request that it answers. */
export function packOutcome(outcome: Outcome): Promise<Uint8Array> {
  let packed: PackedOutcome = { response: outcome as ApiResponse };
  if (outcome instanceof ApiError) {
    const { code, message, status, details, headers, fault } = outcome;
    packed = { error: { code, message, status, details, headers, fault } };
  }
  return pack(packed);
}

export async function unpackOutcome(bytes: Uint8Array): Promise<Outcome> {
  const packed = (await unpack(bytes)) as PackedOutcome;
  if ('response' in packed) return packed.response;
  const { code, message, ...options } = packed.error;
  return new ApiError(code, message, options);
}
