import type { Issue } from '../../../schemas/errors.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { isObject, pointer } from '../json/json.ts';
import { fieldsOf } from './fields.ts';

/**
 * Names that servers may read from the name of a query parameter. Many ignore case; some read `a[b]` and `a.b` as part of `a`; PHP drops
 * leading spaces and what follows a NUL, and reads a space, a full stop and an opening bracket as `_`; qs and Rack read `[a]` as `a`, and Spring `!a`.
 */
function readings(name: string): string[] {
  const folded = name.replace(/\0.*$/s, '').trim().toLowerCase();
  const inner = folded.replace(/^[[\].!]+/, '').replace(/[[\].].*$/s, '');
  return [folded.replace(/[[.].*$/s, ''), folded.replaceAll(/[\s.[]/g, '_'), ...(inner === '' ? [] : [inner])];
}

/** The path of a name with brackets or dots: `a[b].c` is a, b, c. */
const steps = (name: string): string[] =>
  name
    .trim()
    .toLowerCase()
    .split(/[[\].]+/)
    .filter((step) => step !== '');

const isPart = (steps: readonly string[], whole: readonly string[]): boolean => steps.every((step, at) => step === whole[at]);

export interface Written extends Pick<Parameter, 'name' | 'style'> {
  value: unknown;
}

/**
 * Members of an object are sent as parameters, so none may have the name of another parameter.
 * @param declared - names of all parameters, and of those in the literal query of the URL
 */
export function checkMembers(written: readonly Written[], declared: readonly string[]): Issue[] {
  const taken = new Set(declared.flatMap(readings));
  return written.flatMap(({ name, value, style }) => {
    if (style === 'brackets') return checkBracketed(name, value, declared);
    if (style !== undefined || !isObject(value)) return [];
    const members = Object.keys(value);
    const issues = members
      .filter((member) => readings(member).some((reading) => taken.has(reading)))
      .slice(0, 100)
      .map((member) => ({
        path: pointer(['parameters', name, member.slice(0, 200)]),
        problem: 'must not have the name of another parameter of this call, because members are sent as parameters',
      }));
    for (const reading of members.flatMap(readings)) taken.add(reading);
    return issues;
  });
}

/** Bracketed names must stay within their parameter, and must not collide with other parameters. */
function checkBracketed(name: string, value: unknown, declared: readonly string[]): Issue[] {
  const path = pointer(['parameters', name]);
  if (!hasPlainNames(value)) {
    return [{ path, problem: 'must not contain members whose names are empty or contain brackets or control characters' }];
  }
  const [base] = steps(name);
  const others = declared.filter((other) => other !== name).map(steps);
  const near = others.filter((other) => other[0] === base);
  if (near.length === 0) return [];
  for (const field of fieldsOf(name, value, 'brackets')) {
    const own = steps(field.name);
    if (near.some((other) => isPart(other, own) || isPart(own, other))) {
      return [{ path, problem: 'must not contain the name of another parameter of this call, because members are sent as parameters' }];
    }
  }
  return [];
}

const hasPlainNames = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  Object.entries(value).every(([member, item]) => /^[^[\]\p{Cc}]+$/u.test(member) && hasPlainNames(item));
