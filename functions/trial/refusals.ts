import { ApiError } from '../core/runtime/api-error.ts';

export const noTrial = () =>
  new ApiError('NOT_FOUND', 'No policy is on trial. An admin puts one on trial with: intent-gate policy publish FILE --try', {
    details: { reason: 'no_trial' },
  });
