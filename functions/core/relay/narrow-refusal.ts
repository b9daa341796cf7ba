import type { Intent } from '../../../schemas/intent.ts';
import type { ApiError } from '../api-error.ts';
import type { JsonValue } from '../json.ts';
import { selectAllowed } from './select-fields.ts';

/** Limits the shown upstream body to what may leave the gate. */
export function narrowShownBody<T extends { upstream_body?: unknown }>(details: T, { fields }: Pick<Intent, 'fields'>): T {
  const { upstream_body: body, ...others } = details;
  if (body === undefined || fields === undefined) return details;
  const selected = selectAllowed(body as JsonValue, { fields });
  const isNothing = typeof selected !== 'object' || selected === null || Object.keys(selected).length === 0;
  return (isNothing ? others : { ...others, upstream_body: selected }) as T;
}

/** The same for a whole refusal. Nothing is left of a scalar, because no pointer leads into it. */
export function narrowRefusal(error: ApiError, intent: Pick<Intent, 'fields'>): ApiError {
  const details: Record<string, unknown> = narrowShownBody(error.details, intent);
  return details === error.details ? error : error.with({ details });
}
