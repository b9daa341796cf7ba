import type { ApiRequest } from '../http/request.ts';
import { demandingApproval } from '../policy/judge.ts';
import type { Rule } from '../policy/reading.ts';

/** Whether the caller prefers not to wait (RFC 7240 section 4.1). */
const prefersAsync = ({ headerValues }: Pick<ApiRequest, 'headerValues'>): boolean =>
  headerValues('prefer').some((field) => field.split(/[,;]/).some((preference) => preference.trim().toLowerCase() === 'respond-async'));

/** Whether a call is made later: a person has to approve it, or its caller does not wait for it. */
export const isDeferred = (request: Pick<ApiRequest, 'headerValues'>, rules: readonly Rule[]): boolean =>
  demandingApproval(rules).length > 0 || prefersAsync(request);
