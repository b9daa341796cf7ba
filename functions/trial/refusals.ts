import { ApiError } from '../core/runtime/api-error.ts';

export const noTrial = () =>
  new ApiError(
    'NOT_FOUND',
    'No policy is on trial. Put one on trial with PUT /api/policy/try, or with: intent-gate policy publish FILE --try',
    {
      details: { reason: 'no_trial' },
    },
  );
