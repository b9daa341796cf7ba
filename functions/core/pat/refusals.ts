import { ApiError } from '../runtime/api-error.ts';

export type Refuse = (message: string) => ApiError;

export const invalidSignature: Refuse = (message) => new ApiError('INVALID_SIGNATURE', message);
