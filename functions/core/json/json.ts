import type * as z from 'zod';
import { config } from 'zod/v4/core';
import type { Issue } from '../../../schemas/errors.ts';
import { isRawNumber, parseExact, type RawNumber, survivesRoundTrip, toDouble } from '../../../schemas/number.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { describeJsonError } from './json-error.ts';
import { zodMessage } from './zod-message.ts';

config({ customError: zodMessage });

export type JsonValue = null | boolean | number | RawNumber | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [member: string]: JsonValue;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gy;
const whiteSpace = /\s*/gy;

const refuse = (problem: string, path = '') =>
  invalidParameter([{ path, problem }], 'The body is not acceptable JSON. Correct the problems in details.issues, then send it again.');

/** A JSON pointer (RFC 6901) from its segments. */
export const pointer = (segments: readonly PropertyKey[]): string =>
  segments.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Whether a JSON pointer is another one or below it. */
export const isWithin = (pointer: string, ancestor: string): boolean => pointer === ancestor || pointer.startsWith(`${ancestor}/`);

/** How many levels deep JSON may be nested, unless a caller says otherwise. */
export const maxLevels = 32;

/**
 * Parses JSON more strictly than `JSON.parse`, so that no two parsers can read it differently (RFC 8259 section 4):
 * no duplicate member names, however they are escaped, no member called `__proto__`, limited nesting, well-formed Unicode.
 * @param isExact - whether numbers keep every digit (see {@link RawNumber}); otherwise they must be finite and are rounded
 * @throws ApiError INVALID_PARAMETER
 */
export function parseJson(
  text: string,
  { isExact = false, maxDepth = maxLevels }: { isExact?: boolean; maxDepth?: number } = {},
): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse(`is not JSON: ${describeJsonError(text)}`);
  }
  if (isWrittenAlike(value, text, maxDepth)) return value;
  const numbers = checkTokens(text, maxDepth);
  if (isExact) return numbers.areAllWrittenAlike ? value : (parseExact(text) as JsonValue);
  if (!numbers.areAllFinite) throw refuse('must not contain a number beyond the range of IEEE 754 double precision');
  return value;
}

/**
 * Whether a text is what `JSON.stringify` makes of its value. It then has no member twice, and no number that would change; names called `__proto__`,
 * nesting and escaped lone surrogates are checked here. False proves nothing.
 */
const isWrittenAlike = (value: JsonValue, text: string, maxDepth: number): boolean =>
  !text.includes('"__proto__"') && !/\\u[dD][89a-fA-F]/.test(text) && !isDeeper(value, maxDepth) && JSON.stringify(value) === text;

/** Whether a value is nested more levels deep. */
export const isDeeper = (value: JsonValue, levels: number): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** Walks the tokens of a text that is known to be JSON. Iterative, so that nesting uses no stack. */
function checkTokens(text: string, maxDepth: number): { areAllFinite: boolean; areAllWrittenAlike: boolean } {
  const numbers = { areAllFinite: true, areAllWrittenAlike: true };
  const open: { names?: Set<string>; at: string | number }[] = [];
  let isMemberNext = false;
  for (let at = skipWhiteSpace(text, 0); at < text.length; at = skipWhiteSpace(text, at)) {
    token.lastIndex = at;
    const [lexeme = ''] = token.exec(text) ?? [];
    at += lexeme.length;
    if (lexeme === '{' || lexeme === '[') {
      open.push(lexeme === '{' ? { names: new Set(), at: '' } : { at: 0 });
      if (open.length > maxDepth) throw refuse(`must not be nested more than ${maxDepth} levels deep`);
      isMemberNext = lexeme === '{';
    } else if (lexeme === '}' || lexeme === ']') {
      open.pop();
      isMemberNext = false;
    } else if (lexeme === ',') {
      const inner = open.at(-1);
      isMemberNext = inner?.names !== undefined;
      if (typeof inner?.at === 'number') inner.at++;
    } else if (lexeme.startsWith('"')) {
      const content: string = lexeme.includes('\\') ? JSON.parse(lexeme) : lexeme.slice(1, -1);
      if (!content.isWellFormed()) throw refuse('must not contain a lone surrogate');
      if (isMemberNext) addMember(open, content);
      isMemberNext = false;
    } else if (/^-?[0-9]/.test(lexeme)) {
      numbers.areAllFinite &&= Number.isFinite(Number(lexeme));
      numbers.areAllWrittenAlike &&= survivesRoundTrip(lexeme);
    }
  }
  return numbers;
}

function skipWhiteSpace(text: string, at: number): number {
  whiteSpace.lastIndex = at;
  whiteSpace.test(text);
  return whiteSpace.lastIndex;
}

/** @param open - the enclosing objects and arrays */
function addMember(open: readonly { names?: Set<string>; at: string | number }[], name: string): void {
  const inner = open.at(-1);
  const isTwice = inner?.names?.has(name);
  if (isTwice || name === '__proto__') {
    const path = pointer(open.slice(0, -1).map(({ at }) => at));
    const problem = isTwice ? 'must not contain two members with the same name in one object' : 'must not contain a member named __proto__';
    throw refuse(problem, path.length > maxNameLength ? '' : path);
  }
  inner?.names?.add(name);
  if (inner) inner.at = name;
}

/** Longest name in a pointer, in UTF-16 units. */
const maxNameLength = 200;

/** A JSON pointer, cut before the first name that is too long. */
export function shortPointer(segments: readonly PropertyKey[]): string {
  const end = segments.findIndex((segment) => String(segment).length > maxNameLength);
  return pointer(end < 0 ? segments : segments.slice(0, end));
}

/** An issue about an unknown member. If its name is too long, the issue points to its parent. */
export function describeUnknown(at: readonly PropertyKey[], name: string, problem = 'is not a known member; remove it'): Issue {
  if (name.length <= maxNameLength) return { path: shortPointer([...at, name]), problem };
  return { path: shortPointer(at), problem: `contains an unknown member whose name has more than ${maxNameLength} characters; remove it` };
}

/** The issues of a failed parse. Their messages never quote the input. */
export const issuesOf = (error: z.ZodError): Issue[] => error.issues.flatMap((issue) => describe(issue));

function describe(issue: z.core.$ZodIssue): Issue[] {
  const path = shortPointer(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => describeUnknown(issue.path, key));
    case 'invalid_type':
      return [{ path, problem: issue.input === undefined ? 'is required' : `must be ${article(issue.expected)}` }];
    case 'invalid_value':
      return [{ path, problem: `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}` }];
    case 'invalid_union':
      return issue.errors.length === 0 ? [{ path, problem: 'has none of the accepted forms' }] : closestBranch(issue);
    default:
      return [{ path, problem: issue.message }];
  }
}

/** The union branch that fails deepest is most likely the one that the sender meant. */
function closestBranch(issue: Extract<z.core.$ZodIssue, { code: 'invalid_union' }>): Issue[] {
  const depth = (issues: readonly z.core.$ZodIssue[]) =>
    Math.max(...issues.map(({ path, code }) => path.length + (code === 'invalid_type' ? 0 : 0.5)));
  const [closest = []] = [...issue.errors].sort((a, b) => depth(b) - depth(a));
  return closest.flatMap((inner) => describe({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** The JSON name of a type, with its article: zod calls an object with arbitrary members a record. */
export function article(expected: string): string {
  const type = expected === 'record' ? 'object' : expected === 'int' ? 'integer' : expected;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/**
 * Parses `input` with `schema`. A {@link RawNumber} stays one where the schema accepts any value.
 * @throws ApiError INVALID_PARAMETER that lists every issue
 */
export function parse<T extends z.ZodType>(schema: T, input: unknown, message?: string): z.output<T> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  const plain = withDoubles(input, new Set(result.error.issues.flatMap((issue) => pointersOf(issue))));
  if (countRawNumbers(plain) < countRawNumbers(input)) return parse(schema, plain, message);
  throw invalidParameter(issuesOf(result.error), message);
}

/** As {@link parse}, for agents: a member that may be left out may also be null, as many clients write it. */
export function parseWithNulls<T extends z.ZodObject>(schema: T, input: unknown): z.output<T> {
  const isLeftOut = (name: string, value: unknown) => value === null && schema.shape[name]?.safeParse(undefined).success === true;
  return parse(
    schema,
    isObject(input) ? Object.fromEntries(Object.entries(input).filter(([name, value]) => !isLeftOut(name, value))) : input,
  );
}

const pointersOf = (issue: z.core.$ZodIssue, at: readonly PropertyKey[] = []): string[] => {
  const path = [...at, ...issue.path];
  return [pointer(path), ...(issue.code === 'invalid_union' ? issue.errors.flat().flatMap((inner) => pointersOf(inner, path)) : [])];
};

/** Replaces each {@link RawNumber} at these JSON pointers by a `number`, or by Infinity, which no schema accepts, if it would be rounded. */
function withDoubles(value: unknown, pointers: ReadonlySet<string>, at = ''): unknown {
  if (isRawNumber(value)) return pointers.has(at) ? (toDouble(value) ?? Number.POSITIVE_INFINITY) : value;
  if (Array.isArray(value)) return value.map((element, index) => withDoubles(element, pointers, `${at}/${index}`));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withDoubles(member, pointers, at + pointer([name]))]));
}

const countRawNumbers = (value: unknown): number => {
  if (isRawNumber(value)) return 1;
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + countRawNumbers(inner), 0)
    : 0;
};
