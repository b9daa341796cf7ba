import type { Issue } from '../../../schemas/errors.ts';
import { odrlContext } from '../../../schemas/policy.ts';
import { isObject, pointer } from '../json.ts';
import { placeholder } from './placeholder.ts';

type Place = readonly PropertyKey[];
type Members = Record<string, unknown>;
type Read = (value: unknown, place: Place) => unknown;

const odrl = 'http://www.w3.org/ns/odrl/2/';
const prefixes: Record<string, string> = {
  odrl,
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  '@vocab': odrl,
};

/** Other names of members: JSON-LD's own, and the plurals of ODRL 2.1. */
export const synonyms: Record<string, string> = {
  '@id': 'uid',
  '@type': 'type',
  'rdf:value': 'value',
  permissions: 'permission',
  prohibitions: 'prohibition',
  obligations: 'obligation',
  duties: 'duty',
  constraints: 'constraint',
};

/** Other names of operators. */
export const operatorSynonyms: Record<string, string> = { lteq: 'lte', gteq: 'gte', isAnyOf: 'within' };

/** Durations that name a period. */
export const periodSynonyms: Record<string, string> = {
  PT1S: 'second',
  PT1M: 'minute',
  PT1H: 'hour',
  P1D: 'day',
  P7D: 'week',
  P1W: 'week',
};

const numberTypes = /^(integer|decimal|double|float|int|long|short|nonNegativeInteger|positiveInteger|unsignedInt|unsignedLong)$/;
const textTypes = /^(string|date|dateTime|dateTimeStamp|time|duration|anyURI)$/;

/** An ODRL term without its prefix or namespace. */
const bare = (term: string): string => (term.startsWith(odrl) ? term.slice(odrl.length) : term.replace(/^odrl:/, ''));

const list = (value: unknown): unknown[] => {
  const within = isObject(value) ? (value['@list'] ?? value['@set']) : undefined;
  return Array.isArray(within) ? within : Array.isArray(value) ? value : [value];
};

/** What a text, an object with `@id`, or a list of one of them refers to; anything else as it is. */
function reference(value: unknown): unknown {
  if (Array.isArray(value) && value.length === 1) return reference(value[0]);
  if (!isObject(value)) return value;
  const [[name, id] = [], ...more] = Object.entries(value);
  return more.length === 0 && (name === '@id' || name === 'uid') ? id : value;
}

/** The URI of a term of the gate's vocabulary that stands alone. */
const vocabulary = (term: string): string => `${placeholder}/vocabulary/${term}`;

const term: Read = (value) => {
  const text = reference(value);
  return typeof text === 'string' && /^[A-Za-z]\w*$/.test(text) ? vocabulary(text) : text;
};

/** A unit that stands alone: a period, a currency, or a time zone. */
const unit: Read = (value, place) => {
  const text = reference(value);
  if (typeof text !== 'string') return text;
  if (Object.hasOwn(periodSynonyms, text)) return vocabulary(periodSynonyms[text] ?? '');
  if (/^[A-Z]{3}$/.test(text) && text !== 'UTC') return vocabulary(`currency#${text}`);
  return text === 'UTC' || /^[A-Z][A-Za-z]+(\/[A-Z][\w+-]*)+$/.test(text) ? vocabulary(`timeZone#${text}`) : term(text, place);
};

/**
 * Puts a policy file into the form that agents are served: ODRL's JSON-LD has many spellings of one policy, and a signature needs one. Terms that
 * stand alone become URIs, objects with `@id` or `@value` what they stand for, and single values lists where a list belongs. What is in that form
 * already is left exactly as it is. What has no meaning for the gate is kept, so that it is refused by name.
 * @returns the policy, and what cannot be respelt
 */
export function respellPolicy(file: unknown): { value: unknown; issues: Issue[] } {
  const issues: Issue[] = [];
  const complain = (place: Place, problem: string): void => void issues.push({ path: pointer(place), problem });

  /** The members of an object under their own names, each as it is read. */
  function members(object: Members, place: Place, reads: Record<string, Read>): Members {
    const result: Members = {};
    for (const [given, value] of Object.entries(object)) {
      const name = synonyms[bare(given)] ?? bare(given);
      if (Object.hasOwn(result, name)) complain([...place, given], `says ${name} a second time; remove it`);
      else result[name] = reads[name]?.(value, [...place, given]) ?? value;
    }
    return result;
  }

  /** Drops what names an object or its kind, which says nothing more than its place does. */
  function dropIdentity({ uid, type, ...rest }: Members, place: Place, kinds: readonly string[]): Members {
    const kind = reference(type);
    if (kind !== undefined && !(typeof kind === 'string' && kinds.includes(bare(kind))))
      complain([...place, 'type'], `must be ${kinds.join(' or ')}, or be left out`);
    return rest;
  }

  const literal: Read = (value, place) => {
    if (Array.isArray(value)) return value.map((one, at) => literal(one, [...place, at]));
    if (!isObject(value)) return value;
    if ('@list' in value || '@set' in value) return literal(list(value), place);
    const { '@value': given, '@type': type, ...more } = value;
    if (given === undefined) return reference(value);
    for (const name of Object.keys(more)) complain([...place, name], 'is not a known member; remove it');
    return typed(given, type, place);
  };

  function typed(given: unknown, type: unknown, place: Place): unknown {
    if (type === undefined) return given;
    const name = String(type)
      .replace(/^xsd:/, '')
      .replace(prefixes.xsd ?? '', '');
    const text = String(given);
    if (name === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
    if (numberTypes.test(name)) {
      const number = Number(text);
      const isExact =
        /^[+-]?\d+(\.\d+)?$/.test(text) &&
        String(number) ===
          text
            .replace(/^\+/, '')
            .replace(/(\.\d*?)0+$/, '$1')
            .replace(/\.$/, '');
      if (!isExact) complain(place, 'must be a number that is written with its digits, and exact as a 64-bit floating point number');
      return isExact ? number : 0;
    }
    if (name === 'time') return text.replace(/^(\d\d:\d\d):00$/, '$1');
    if (!textTypes.test(name))
      complain(place, 'must be of a type of XML Schema that the gate knows: a number, text, boolean, date or time');
    return text;
  }

  const constraint = (value: unknown, place: Place, target?: unknown): unknown[] => {
    if (!isObject(value)) return [value];
    const read = members(value, place, {
      leftOperand: term,
      operator: (given) => {
        const text = reference(given);
        return typeof text === 'string' ? (operatorSynonyms[bare(text)] ?? bare(text)) : text;
      },
      rightOperand: literal,
      unit,
    });
    const { and, dataType, ...rest } = dropIdentity(read, place, ['Constraint', 'LogicalConstraint']);
    if (and !== undefined)
      return [
        ...list(and).flatMap((one, at) => constraint(one, [...place, 'and', at], target)),
        ...(Object.keys(rest).length > 0 ? [rest] : []),
      ];
    const { leftOperand, operator, rightOperand } = rest;
    if (typeof leftOperand === 'string' && /^parameters\/[^/]+$/.test(leftOperand) && typeof target === 'string')
      rest.leftOperand = `${target}/${leftOperand}`;
    if (dataType !== undefined) rest.rightOperand = typed(rightOperand, reference(dataType), [...place, 'rightOperand']);
    if (operator === 'within' && rightOperand !== undefined && !Array.isArray(rightOperand)) rest.rightOperand = [rest.rightOperand];
    return [rest];
  };

  /** An action or a target, and what refines it: a condition like those of the rule. */
  function refined(
    value: unknown,
    place: Place,
    of: 'value' | 'source',
    kinds: readonly string[],
  ): { name: unknown; refinement: unknown[] } {
    const one = reference(value);
    if (!isObject(one)) return { name: one, refinement: [] };
    const read = members(one, place, {});
    const { [of]: named = read.uid, refinement = [], ...rest } = dropIdentity(read, place, kinds);
    for (const name of Object.keys(rest)) complain([...place, name], 'is not a known member; remove it');
    return { name: reference(named), refinement: list(refinement) };
  }

  const rule =
    (kinds: readonly string[]): Read =>
    (value, place) => {
      if (!isObject(value)) return value;
      const read = dropIdentity(members(value, place, { assignee: reference }), place, kinds);
      const refinements: unknown[] = [];
      for (const [member, of, names] of [
        ['target', 'source', ['Asset', 'AssetCollection']],
        ['action', 'value', ['Action']],
      ] as const) {
        if (read[member] === undefined) continue;
        const { name, refinement } = refined(read[member], [...place, member], of, names);
        read[member] = name;
        refinements.push(...refinement);
      }
      if (read.constraint === undefined && refinements.length === 0) return withDuties(read, place);
      const constraints = [...(read.constraint === undefined ? [] : list(read.constraint)), ...refinements];
      read.constraint = constraints.flatMap((one, at) => constraint(one, [...place, 'constraint', at], read.target));
      return withDuties(read, place);
    };

  function withDuties(read: Members, place: Place): Members {
    if (read.duty !== undefined) read.duty = list(read.duty).map((one, at) => duty(one, [...place, 'duty', at]));
    return read;
  }

  /** What ODRL says by refinements of the action `compensate`, the gate says by members. */
  const duty: Read = (value, place) => {
    if (!isObject(value)) return value;
    const read = dropIdentity(
      members(value, place, {
        target: reference,
        unit,
        amount: (given, at) => (isObject(given) && '@value' in given ? literal(given, at) : given),
      }),
      place,
      ['Duty'],
    );
    const { name, refinement } = refined(read.action, [...place, 'action'], 'value', ['Action']);
    read.action = typeof name === 'string' && bare(name) === 'compensate' ? 'pay' : name;
    for (const [at, one] of refinement.flatMap((given, index) => constraint(given, [...place, 'action', 'refinement', index])).entries()) {
      const { leftOperand, operator, rightOperand, unit: currency } = isObject(one) ? one : {};
      const subject = String(leftOperand).split(/[/#:]/).at(-1);
      if (operator !== 'eq' || (subject !== 'payAmount' && subject !== 'timeInterval'))
        complain([...place, 'action', 'refinement', at], 'must be payAmount or timeInterval with eq');
      else if (subject === 'timeInterval') read.timeInterval = rightOperand;
      else Object.assign(read, { amount: rightOperand }, currency === undefined ? {} : { unit: currency });
    }
    return read;
  };

  const rules =
    (kinds: readonly string[]): Read =>
    (value, place) =>
      list(value).map((one, at) => rule(kinds)(one, [...place, at]));

  const isKnownContext = (context: unknown): boolean =>
    isObject(context)
      ? Object.entries(context).every(([prefix, meaning]) => prefixes[prefix] === meaning)
      : typeof context === 'string' && context.replace(/^https:/, 'http:') === odrlContext;

  if (!isObject(file)) return { value: file, issues };
  const { $schema, ...written } = file;
  const policy = members(written, [], {
    '@context': (value) => (list(value).every(isKnownContext) ? odrlContext : value),
    uid: reference,
    type: (value) => {
      const kind = reference(value);
      return typeof kind === 'string' ? bare(kind).replace(/^Policy$/, 'Set') : kind;
    },
    profile: reference,
    permission: rules(['Permission', 'Rule']),
    prohibition: rules(['Prohibition', 'Rule']),
    obligation: rules(['Duty', 'Obligation', 'Rule']),
  });
  const { '@context': context = odrlContext, uid = `${placeholder}/api/policy`, type = 'Set' } = policy;
  const isComplete = ['@context', 'uid', 'type'].every((name) => name in policy);
  return { value: isComplete ? policy : { ...{ '@context': context, uid, type }, ...policy }, issues };
}
