/**
 * The error table (specification section 7.2): every error code of the gate, its HTTP status
 * and the suffix of its schema-form reference (`<PROTOCOL>-<suffix>`, section 7.1).
 */
export const errorTable = {
  INVALID_PARAMETER: {
    status: 400,
    reference: 'VAL-002',
    meaning: 'Something in the request is missing, malformed or too large; `details.issues` names each place.',
  },
  INVALID_SIGNATURE: {
    status: 400,
    reference: 'AUT-004',
    meaning: 'The signature of the policy, one of its claims, or the DPoP proof is not valid for the given key.',
  },
  UNAUTHORIZED: {
    status: 401,
    reference: 'AUT-001',
    meaning: 'The bearer token is missing, malformed, expired or revoked.',
  },
  FORBIDDEN: {
    status: 403,
    reference: 'AUZ-001',
    meaning: 'The token is valid but does not permit this request; `details.reason` says why.',
  },
  POLICY_REJECTED: {
    status: 403,
    reference: 'POL-003',
    meaning: 'The signed text is not the current policy, or the agent may not get a PAT; `details.reason` says why.',
  },
  NOT_FOUND: {
    status: 404,
    reference: 'RES-001',
    meaning: 'There is no such resource or path; for an unknown intent_uid, `details.nearest` lists similar ones, if any.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    reference: 'PRO-002',
    meaning: 'The path does not support this method; `Allow` lists the methods that it supports.',
  },
  CONFLICT: {
    status: 409,
    reference: 'RES-002',
    meaning: 'The name or uid is taken, the record has changed since it was read, or the idempotency key is in use.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    reference: 'PRO-003',
    meaning: 'The body must be sent as `Content-Type: application/json`.',
  },
  TOO_MANY_REQUESTS: {
    status: 429,
    reference: 'AUZ-004',
    meaning: 'A limit on calls, spending, replays, waiting calls, PATs or clients has been reached; `Retry-After` says when to try again.',
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    reference: 'SRV-001',
    meaning: 'The gate has failed; give `details.request_id` to its operators.',
  },
  NOT_IMPLEMENTED: {
    status: 501,
    reference: 'SRV-011',
    meaning: 'This deployment does not support the request.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    reference: 'SRV-002',
    meaning:
      'A dependency cannot be reached: try again after `Retry-After`. With `details.reason` `paused`, an admin has paused the service.',
  },
  GATEWAY_TIMEOUT: {
    status: 504,
    reference: 'SRV-003',
    meaning: "The intent's endpoint or the gate did not answer in time.",
  },
  INTENT_EXECUTION_FAILED: {
    status: 502,
    reference: 'INT-002',
    meaning: "The intent's endpoint failed (502), or refused the parameters or the call (422).",
  },
  INTENT_NOT_SUPPORTED: {
    status: 501,
    reference: 'INT-008',
    meaning: "The intent's endpoint does not support the operation.",
  },
  VERSION_CONFLICT: {
    status: 409,
    reference: 'INT-010',
    meaning: 'Other versions of the intent exist; `details.supported_versions` lists them.',
  },
  INTENT_DEPRECATED: {
    status: 410,
    reference: 'INT-009',
    meaning: 'The intent is no longer available; `details.successor` names a later version, if any.',
  },
} as const satisfies Record<string, { status: number; reference: string; meaning: string }>;

export type ErrorCode = keyof typeof errorTable;

/** One problem of a request: a JSON pointer (RFC 6901) to the value, and what it must be instead. */
export interface Issue {
  path: string;
  problem: string;
}
