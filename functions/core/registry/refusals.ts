import { changedMembers, isIntentDigest } from '../../../schemas/intent-digest.ts';
import { ApiError } from '../runtime/api-error.ts';

export const noSuchService = () =>
  new ApiError('NOT_FOUND', 'No service has this service_id. Register it with POST /api/services, or check the id.');

export const noSuchIntent = () => new ApiError('NOT_FOUND', 'No intent has this intent_uid. Find one with GET /api/intents/search.');

export const recordChanged = () =>
  new ApiError(
    'CONFLICT',
    'The record has changed since you read it. Read it again, apply your change to the current record, and send it with the new ETag.',
    { details: { reason: 'etag_mismatch' } },
  );

/** @param known - the digest that the caller sent, which may be any text */
export function intentChanged(known: string, digest: string): ApiError {
  const changed = isIntentDigest(known) ? changedMembers(known, digest) : [];
  return new ApiError(
    'CONFLICT',
    `The intent has changed since you read it${changed.length > 0 ? `: ${changed.join(', ')}` : ''}. Nothing was executed. Read it again with GET /api/intents/{intent_uid}; if you still want it, send its new digest in If-Match.`,
    { details: { reason: 'intent_changed', changed, digest } },
  );
}
