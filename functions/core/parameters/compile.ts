import type { Issue } from '../../../schemas/errors.ts';
import { isRawNumber, parseExact, toDouble } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { describeUnknown, pointer } from '../json.ts';
import { compileDefinition, types } from './keywords.ts';
import { compileNested, openNestedBudget } from './nested.ts';
import { openMatchingBudget } from './pattern.ts';

export type Validated = { values: Record<string, unknown>; issues?: undefined } | { values?: undefined; issues: Issue[] };

/**
 * Compiles the input parameters of an intent into a validator. It coerces nothing, fills in defaults, refuses unknown parameters, treats null for an
 * optional parameter as left out, and reports all issues (pointers `/parameters/<name>`). Patterns must have passed {@link checkDefinitions}.
 * @param namesInJson - parameters that are sent as JSON, whose schema may allow null; default: all
 */
export function compileParameters(
  definitions: readonly Parameter[],
  namesInJson?: ReadonlySet<string>,
): (given: Record<string, unknown>) => Validated {
  const compiled = definitions.map((definition) => ({
    definition,
    check: compileDefinition(definition),
    mayBeNull: allowsNull(definition) && (namesInJson?.has(definition.name) ?? true),
    checkInside: definition.schema && compileNested(definition.schema),
  }));
  const names = new Set(definitions.map(({ name }) => name));
  return (given) => {
    const issues = Object.keys(given)
      .filter((name) => !names.has(name))
      .map((name) => describeUnknown(['parameters'], name, 'is not a parameter of this intent; remove it'));
    const values: [string, unknown][] = [];
    const matching = openMatchingBudget();
    const budget = openNestedBudget(matching);
    for (const { definition, check, checkInside, mayBeNull } of compiled) {
      const { name, required, type, default: fallback } = definition;
      if (given[name] === null && Object.hasOwn(given, name) && mayBeNull) {
        values.push([name, null]);
      } else if (Object.hasOwn(given, name) && !isLeftOut(definition, given[name])) {
        const orNothing = !required && given[name] === '' ? ', or be left out' : '';
        const own = check(given[name], matching).map((problem) => ({ path: pointer(['parameters', name]), problem: problem + orNothing }));
        const inside = own.length === 0 ? checkInside?.(given[name], ['parameters', name], budget) : undefined;
        issues.push(...own, ...(inside ?? []));
        values.push([name, plain(type, given[name])]);
      } else if (fallback !== undefined) {
        values.push([name, plain(type, parseExact(JSON.stringify(fallback)))]);
      } else if (required) {
        issues.push({ path: pointer(['parameters', name]), problem: `is required and ${types[type].problem}` });
      }
    }
    return issues.length > 0 ? { issues } : { values: Object.fromEntries(values) };
  };
}

/** Whether a parameter counts as left out. Models often write null for those, so null is a value only if the type includes it. */
const isLeftOut = ({ required, type }: Parameter, value: unknown): boolean => value === null && !required && !types[type].holds(null);

/** Whether a parameter may also be null. It has a single type, so only its schema can say so. */
const allowsNull = ({ schema }: Parameter): boolean => [schema?.type].flat().includes('null');

/** Normalises an integer spelt 1.0 or 1e3 to 1 or 1000, because upstreams may not accept other spellings, for example in a path. */
function plain(type: Parameter['type'], value: unknown): unknown {
  const double = type === 'integer' && isRawNumber(value) ? toDouble(value) : undefined;
  return Number.isSafeInteger(double) ? double : value;
}

/** Missing or mistyped members of an upstream's answer, as pointers into it. Optional members may be null. */
export const checkOutput = (definitions: readonly Parameter[], answer: object): Issue[] =>
  definitions.flatMap(({ name, type, required }): Issue[] => {
    const value: unknown = Object.hasOwn(answer, name) ? Reflect.get(answer, name) : undefined;
    if ((!required && (value === undefined || value === null)) || types[type].holds(value)) return [];
    return [{ path: pointer([name]), problem: value === undefined ? `is required and ${types[type].problem}` : types[type].problem }];
  });
