import type { Issue } from '../../../schemas/errors.ts';
import { isNumeric, parseExact, toWhole } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { describeUnknown, pointer } from '../json/json.ts';
import { compileDefinition, types } from './keywords.ts';
import { compileIntegers, compileNested, openNestedBudget } from './nested.ts';
import { openMatchingBudget } from './pattern.ts';

export type Validated = { values: Record<string, unknown>; issues?: undefined } | { values?: undefined; issues: Issue[] };

/** What null for an input is: a value that removes something, a value if the definition allows it, or the same as leaving the input out. */
export type NullRule = 'value' | 'value if allowed' | 'left out';

/**
 * Compiles the input parameters of an intent into a validator. It coerces nothing but the spelling of integers, fills in defaults, refuses unknown
 * parameters, and reports all issues (pointers `/parameters/<name>`). Models often write null for what they leave out, so null for an optional
 * parameter is a value only where it may be sent. Patterns must have passed {@link checkDefinitions}.
 * @param nullRuleOf - default: null is a value if the definition allows it
 */
export function compileParameters(
  definitions: readonly Parameter[],
  nullRuleOf: (definition: Parameter) => NullRule = () => 'value if allowed',
): (given: Record<string, unknown>) => Validated {
  const compiled = definitions.map((definition) => {
    const check = compileDefinition(definition);
    const checkInside = definition.schema && compileNested(definition.schema);
    const rewriteInside = definition.schema && compileIntegers(definition.schema);
    const write = (value: unknown) => {
      const whole = definition.type === 'integer' && isNumeric(value) ? toWhole(value) : value;
      return rewriteInside ? rewriteInside(whole) : whole;
    };
    const takesNull = () =>
      [definition.schema?.type].flat().includes('null') ||
      (check(null).length === 0 && !checkInside?.(null, [], openNestedBudget(openMatchingBudget())).length);
    const rule = nullRuleOf(definition);
    return { definition, check, checkInside, write, mayBeNull: rule === 'value' || (rule === 'value if allowed' && takesNull()) };
  });
  const names = new Set(definitions.map(({ name }) => name));
  return (given) => {
    const issues = Object.keys(given)
      .filter((name) => !names.has(name))
      .map((name) => describeUnknown(['parameters'], name, 'is not a parameter of this intent; remove it'));
    const values: [string, unknown][] = [];
    const matching = openMatchingBudget();
    const budget = openNestedBudget(matching);
    for (const { definition, check, checkInside, write, mayBeNull } of compiled) {
      const { name, required, type, default: fallback } = definition;
      const isNull = Object.hasOwn(given, name) && given[name] === null;
      if (isNull && mayBeNull) {
        values.push([name, null]);
      } else if (Object.hasOwn(given, name) && (required || !isNull)) {
        const orNothing = !required && given[name] === '' ? ', or be left out' : '';
        const own = check(given[name], matching).map((problem) => ({ path: pointer(['parameters', name]), problem: problem + orNothing }));
        const inside = own.length === 0 ? checkInside?.(given[name], ['parameters', name], budget) : undefined;
        issues.push(...own, ...(inside ?? []));
        values.push([name, write(given[name])]);
      } else if (fallback !== undefined) {
        values.push([name, write(parseExact(JSON.stringify(fallback)))]);
      } else if (required) {
        issues.push({ path: pointer(['parameters', name]), problem: `is required and ${types[type].problem}` });
      }
    }
    return issues.length > 0 ? { issues } : { values: Object.fromEntries(values) };
  };
}

/** Missing or mistyped members of an upstream's answer, as pointers into it. Optional members may be null. */
export const checkOutput = (definitions: readonly Parameter[], answer: object): Issue[] =>
  definitions.flatMap(({ name, type, required }): Issue[] => {
    const value: unknown = Object.hasOwn(answer, name) ? Reflect.get(answer, name) : undefined;
    if ((!required && (value === undefined || value === null)) || types[type].holds(value)) return [];
    return [{ path: pointer([name]), problem: value === undefined ? `is required and ${types[type].problem}` : types[type].problem }];
  });
