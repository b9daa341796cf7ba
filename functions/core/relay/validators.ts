import { LRUCache } from 'lru-cache';
import { invalidParameter } from '../http/api-error.ts';
import type { IntentRecord } from '../store/records.ts';
import { compileParameters } from './parameters.ts';

/** Compiled validators that an instance keeps. */
const greatestKept = 1_000;

/**
 * Validators of intents' input parameters, compiled once for each revision.
 * @returns a function that returns the values with defaults filled in, and throws ApiError INVALID_PARAMETER with every issue at once
 */
export function openValidators(): (intent: IntentRecord, given: Record<string, unknown>) => Record<string, unknown> {
  const compiled = new LRUCache<string, ReturnType<typeof compileParameters>>({ max: greatestKept });
  return (intent, given) => {
    const id = `${intent.intent_uid} ${intent.rev}`;
    const validate = compiled.get(id) ?? compileParameters(intent.input_parameters);
    compiled.set(id, validate);
    const { values, issues } = validate(given);
    if (!values)
      throw invalidParameter(
        issues,
        'The parameters are not valid. Correct every place that details.issues names; GET /api/intents/{intent_uid}?view=full shows what is expected.',
      );
    return values;
  };
}
