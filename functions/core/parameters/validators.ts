import QuickLRU from 'quick-lru';
import type { FullIntent } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { compileParameters, type NullRule } from './compile.ts';

const maxCached = 1_000;

type RevisedIntent = Pick<FullIntent, 'intent_uid' | 'endpoint' | 'input_parameters'> & { rev: number };

/**
 * Opens a validator of input parameters that caches its compiled form per revision of an intent.
 * @param nullRules - see {@link compileParameters}
 * @param expectedInputs - the input parameters, or those that a call with these values needs
 * @returns a function that returns the values with defaults filled in, or throws ApiError INVALID_PARAMETER listing all issues
 */
export function openValidators(
  nullRules: (endpoint: RevisedIntent['endpoint']) => (input: Parameter) => NullRule,
  expectedInputs: (intent: RevisedIntent, given: Record<string, unknown>) => Parameter[],
): (intent: RevisedIntent, given: Record<string, unknown>) => Record<string, unknown> {
  const compiled = new QuickLRU<string, ReturnType<typeof compileParameters>>({ maxSize: maxCached });
  return (intent, given) => {
    const inputs = expectedInputs(intent, given);
    const id = `${intent.intent_uid} ${intent.rev} ${inputs === intent.input_parameters}`;
    const validate = compiled.get(id) ?? compileParameters(inputs, nullRules(intent.endpoint));
    compiled.set(id, validate);
    const { values, issues } = validate(given);
    if (!values)
      throw invalidParameter(
        issues,
        'The parameters are not valid. Correct every problem in details.issues; GET /api/intents/{intent_uid}?view=full shows what is expected.',
      );
    return values;
  };
}
