import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import { ApiError, invalidParameter } from '../runtime/api-error.ts';
import { notApproved, outcomeNotStored, pending } from './deferred-answers.ts';
import type { Outcome, UsedKey } from './idempotent-call-store.ts';

export const idempotencyKey = /^[\x21-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request: 1 to 255 visible ASCII characters.
 * @throws ApiError INVALID_PARAMETER
 */
export function readIdempotencyKey(request: Pick<ApiRequest, 'header'>): string | undefined {
  const key = request.header('idempotency-key');
  if (key === undefined || idempotencyKey.test(key)) return key;
  throw invalidParameter([{ path: '', problem: 'the header Idempotency-Key must have 1 to 255 visible ASCII characters' }]);
}

/** The key of a request, or that which its transport derives from the call, whether or not the call is deferred now. @throws ApiError INVALID_PARAMETER */
export function givenKeyOf(
  request: Pick<ApiRequest, 'header' | 'keyIfDeferred'>,
): { key: string; isFreedByAnswer?: boolean | undefined } | undefined {
  const key = readIdempotencyKey(request);
  if (key !== undefined) return { key };
  return request.keyIfDeferred?.isFreedByAnswer ? request.keyIfDeferred : undefined;
}

export const keyRequired = (message: string): ApiError =>
  invalidParameter([{ path: '', problem: 'the header Idempotency-Key is required' }], message);

export const fingerprintOf = (intentUid: string, parameters: unknown): string => canonicalDigest([intentUid, parameters]);

/** The key sent to the upstream instead of the agent's, so that keys of different agents do not collide there. */
export const upstreamKeyOf = (account: string, key: string): string => canonicalDigest([account, key]);

/** The same for a service that takes only UUIDs: version 8 (RFC 9562 section 5.8), made of the first bits of that key. */
export function upstreamUuidOf(account: string, key: string): string {
  const hex = Buffer.from(upstreamKeyOf(account, key), 'base64url').toString('hex');
  const variant = (Number.parseInt(hex.slice(16, 17), 16) & 3) | 8;
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant.toString(16) + hex.slice(17, 20), hex.slice(20, 32)].join(
    '-',
  );
}

const replayed = { 'Idempotent-Replayed': 'true' };

/**
 * Answers a request whose key has been used before with the outcome of the first request.
 * @throws ApiError the refusal of the first request, CONFLICT, or FORBIDDEN if the call was not approved
 */
export function answerUsedKey(used: UsedKey, baseUrl: string): ApiResponse {
  switch (used.state) {
    case 'replay':
      return replay(used.outcome);
    case 'not_stored':
      throw outcomeNotStored();
    case 'conflict':
      throw conflict(
        'other_request',
        'This Idempotency-Key was used for another request in the last 24 hours. Use a separate key for each request.',
      );
    case 'running':
      throw conflict('running', 'The first request under this Idempotency-Key is still running. Send it again after Retry-After seconds.', {
        'Retry-After': String(used.retryAfterSeconds),
      });
    case 'waiting':
    case 'working':
      return pending(used, baseUrl);
    case 'denied':
      throw notApproved('denied', `An admin denied this call: ${used.reason}`);
    case 'expired':
      throw notApproved('expired', used.reason);
    case 'unknown':
      throw conflict(
        'outcome_unknown',
        'The first request under this Idempotency-Key was interrupted: its outcome is unknown, and it will not be executed again. Find out whether it took effect before you send it under a new key.',
      );
  }
}

function replay(outcome: Outcome): ApiResponse {
  if (outcome instanceof ApiError) throw outcome.withHeaders(replayed);
  return { ...outcome, headers: { ...outcome.headers, ...replayed } };
}

const conflict = (reason: string, message: string, headers: Record<string, string> = {}) =>
  new ApiError('CONFLICT', message, { details: { reason }, headers });
