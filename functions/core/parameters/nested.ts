import { canonicalText } from '../../../schemas/canonical.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { isNumeric, isRawNumber, toDouble, toWhole } from '../../../schemas/number.ts';
import type { NestedSchema } from '../../../schemas/parameter.ts';
import { describeUnknown, isObject, pointer, shortPointer } from '../json/json.ts';
import { compileBounds, compileEnum, findPatternProblem, types } from './keywords.ts';
import { compilePattern, type MatchingBudget, maxMatchedLength } from './pattern.ts';

/** Maximum number of issues per value. */
const maxIssues = 20;

/**
 * Work budget for all inputs of one request, about a fifth of a second. Each schema that is applied to a value costs {@link visitWork}, 1 per character,
 * digit or item of the value itself, and {@link memberWork} per member. Once the budget is spent, checking is left to the service.
 */
const maxWork = 4_000_000;

const visitWork = 4;

/** Enumerating members of objects takes far longer than enumerating items of lists. */
const memberWork = 20;

/** An issue whose pointer is built only if needed. */
type Found = () => Issue;

export interface NestedBudget {
  workLeft: number;
  matching: MatchingBudget;
  /** cached canonical texts of lists and objects, for comparison with enums */
  texts: Map<unknown, string>;
}

export const openNestedBudget = (matching: MatchingBudget): NestedBudget => ({ workLeft: maxWork, matching, texts: new Map() });

interface Run {
  found: Found[];
  budget: NestedBudget;
}

type Path = readonly (string | number)[];
type Visitor = (value: unknown, path: Path, run: Run) => void;

/** The work for a value itself, without its items and members. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (isRawNumber(value)) return value.rawJSON.length;
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length * memberWork : 0;
}

/**
 * Compiles the schema of a list, an object or alternatives (JSON Schema 2020-12). Unknown keywords and formats are ignored.
 * @returns a function that finds the issues inside a value; their pointers begin with `at`
 */
export function compileNested(schema: NestedSchema): (value: unknown, at: Path, budget: NestedBudget) => Issue[] {
  const check = compile(schema);
  return (value, at, budget) => {
    const run: Run = { found: [], budget };
    check(value, at, run);
    return run.found.slice(0, maxIssues).map((describe) => describe());
  };
}

function compile(schema: NestedSchema): Visitor {
  const checkType = compileType(schema);
  const checks = [
    compileEnumOf(schema),
    ...compileBounds(schema).map(simple),
    compileMultiple(schema),
    compilePatternOf(schema),
    ...compileInside(schema),
  ].filter((check) => check !== undefined);
  const ownWork = visitWork + (schema.required?.length ?? 0);
  return (value, path, run) => {
    const { budget } = run;
    if (budget.workLeft <= 0 || run.found.length >= maxIssues) return;
    budget.workLeft -= ownWork + sizeOf(value);
    if (budget.workLeft < 0) return;
    const before = run.found.length;
    checkType?.(value, path, run);
    // a value of the wrong type has no further issues
    if (run.found.length > before) return;
    for (const check of checks) check(value, path, run);
  };
}

const simple =
  ({ holds, problem }: { holds: (value: unknown, run: Run) => boolean; problem: string }): Visitor =>
  (value, path, run) => {
    if (!holds(value, run)) run.found.push(() => ({ path: shortPointer(path), problem }));
  };

function compileType({ type }: NestedSchema): Visitor | undefined {
  if (type === undefined) return undefined;
  const rules = [type].flat().map((name) => types[name]);
  const problem = rules.map((rule, at) => (at === 0 ? rule.problem : rule.problem.replace(/^must be /, ''))).join(' or ');
  return simple({ holds: (value) => rules.some(({ holds }) => holds(value)), problem });
}

function compileEnumOf({ enum: allowed }: NestedSchema): Visitor | undefined {
  if (allowed === undefined) return undefined;
  const { texts, problem } = compileEnum(allowed);
  const isScalar = allowed.every((value) => typeof value !== 'object' || value === null);
  const holds = (value: unknown, { budget }: Run) => {
    if (!isObject(value) && !Array.isArray(value)) return texts.has(canonicalText(value));
    // avoids serialising a large value that cannot match
    if (isScalar) return false;
    const text = budget.texts.get(value) ?? canonicalText(value);
    budget.texts.set(value, text);
    return texts.has(text);
  };
  return simple({ holds, problem });
}

/** Tolerates rounding of doubles, so 0.3 and 0.30000000000000004 are multiples of 0.1. Numbers that exceed double precision are left to the service. */
function compileMultiple({ multipleOf }: NestedSchema): Visitor | undefined {
  const step = multipleOf && toDouble(multipleOf);
  if (step === undefined || step <= 0) return undefined;
  const holds = (value: unknown) => {
    const number = isNumeric(value) ? toDouble(value) : undefined;
    if (number === undefined) return true;
    const times = number / step;
    return Math.abs(times - Math.round(times)) <= 4 * Number.EPSILON * Math.abs(times);
  };
  return simple({ holds, problem: `must be a multiple of ${step}` });
}

function compilePatternOf({ pattern }: NestedSchema): Visitor | undefined {
  if (pattern === undefined || findPatternProblem(pattern) !== undefined) return undefined;
  const { matches, size } = compilePattern(pattern);
  // texts that take too long to match are left to the service
  const holds = (value: unknown, { budget: { matching } }: Run) =>
    typeof value !== 'string' || value.length > maxMatchedLength || !matching.spend(size * value.length) || matches(value);
  return simple({ holds, problem: `must match the pattern ${pattern}` });
}

function compileInside({ items, properties, required, additionalProperties, anyOf }: NestedSchema): Visitor[] {
  const checks: Visitor[] = [];
  if (items !== undefined) {
    const check = compile(items);
    checks.push((value, path, run) => {
      if (Array.isArray(value)) for (const [index, item] of value.entries()) check(item, [...path, index], run);
    });
  }
  const members = new Map(Object.entries(properties ?? {}).map(([name, member]) => [name, compile(member)]));
  const others = isObject(additionalProperties) ? compile(additionalProperties as NestedSchema) : undefined;
  if (members.size > 0 || others !== undefined || required !== undefined || additionalProperties === false)
    checks.push((value, path, run) => {
      if (!isObject(value)) return;
      for (const name of required ?? [])
        if (!Object.hasOwn(value, name)) run.found.push(() => ({ path: shortPointer([...path, name]), problem: 'is required' }));
      for (const [name, member] of Object.entries(value)) {
        const check = members.get(name) ?? others;
        // null passes for an optional member, because many API documents do not declare it
        if (member !== null || required?.includes(name)) check?.(member, [...path, name], run);
        if (check === undefined && additionalProperties === false) run.found.push(() => describeUnknown(path, name));
      }
    });
  if (anyOf !== undefined) {
    const branches = anyOf.map(compile);
    checks.push((value, path, run) => {
      const tried = branches.map((check) => {
        const found: Found[] = [];
        check(value, path, { ...run, found });
        return found;
      });
      if (tried.length > 0 && tried.every((found) => found.length > 0))
        run.found.push(...(tried.toSorted((left, right) => left.length - right.length)[0] ?? []));
    });
  }
  return checks;
}

/**
 * Compiles a function that writes integers in digits alone wherever a schema allows integers but no fractions: hosts send 2.0, which services refuse.
 * @returns undefined if the schema has no such place
 */
export function compileIntegers({ type, items, properties, additionalProperties, anyOf = [] }: NestedSchema): Rewrite | undefined {
  const allowed = [type].flat();
  const own = allowed.includes('integer') && !allowed.includes('number');
  const ofItems = items && compileIntegers(items);
  const ofMembers = new Map(Object.entries(properties ?? {}).map(([name, member]) => [name, compileIntegers(member)]));
  const ofOthers = isObject(additionalProperties) ? compileIntegers(additionalProperties as NestedSchema) : undefined;
  const ofBranches = anyOf.map(compileIntegers).filter((rewrite) => rewrite !== undefined);
  const hasMembers = ofOthers !== undefined || [...ofMembers.values()].some((rewrite) => rewrite !== undefined);
  if (!own && !ofItems && !hasMembers && ofBranches.length === 0) return undefined;
  const rewriteOwn: Rewrite = (value) => {
    if (own && isNumeric(value)) return toWhole(value);
    if (ofItems && Array.isArray(value)) return value.map(ofItems);
    if (!hasMembers || !isObject(value)) return value;
    const rewriteMember = (name: string) => (ofMembers.has(name) ? ofMembers.get(name) : ofOthers) ?? keep;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rewriteMember(name)(member)]));
  };
  return (value) => ofBranches.reduce((written, rewrite) => rewrite(written), rewriteOwn(value));
}

type Rewrite = (value: unknown) => unknown;

const keep: Rewrite = (value) => value;

export function findNestedProblems(schema: NestedSchema, at: Path = []): Issue[] {
  const problem = schema.pattern === undefined ? undefined : findPatternProblem(schema.pattern);
  const inside: [Path, NestedSchema | undefined][] = [
    [['items'], schema.items],
    ...Object.entries(schema.properties ?? {}).map(([name, member]): [Path, NestedSchema] => [['properties', name], member]),
    ...(schema.anyOf ?? []).map((branch, index): [Path, NestedSchema] => [['anyOf', index], branch]),
    [['additionalProperties'], isObject(schema.additionalProperties) ? (schema.additionalProperties as NestedSchema) : undefined],
  ];
  return [
    ...(problem === undefined ? [] : [{ path: pointer([...at, 'pattern']), problem }]),
    ...(schema.$ref === undefined
      ? []
      : [{ path: pointer([...at, '$ref']), problem: 'must be left out: replace it with the schema that it refers to' }]),
    ...inside.flatMap(([steps, member]) => (member === undefined ? [] : findNestedProblems(member, [...at, ...steps]))),
  ];
}
