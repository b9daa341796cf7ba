import { ApiError } from '../api-error.ts';

export const noSuchService = () =>
  new ApiError('NOT_FOUND', 'No service has this service_id. Register it with POST /api/services, or check the id.');

export const noSuchIntent = () => new ApiError('NOT_FOUND', 'No intent has this intent_uid. Find one with GET /api/intents/search.');

export const recordChanged = () =>
  new ApiError(
    'CONFLICT',
    'The record has changed since you read it. Read it again, apply your change to what it is now, and send that with its new ETag.',
    {
      details: { reason: 'etag_mismatch' },
    },
  );
