import type { Issue } from '../../../schemas/errors.ts';
import { toDouble, toNumeric } from '../../../schemas/number.ts';
import { odrlContext } from '../../../schemas/policy.ts';
import { isObject } from '../json/json.ts';
import { operatorSynonyms } from './operators.ts';
import { placeholder } from './placeholder.ts';
import { Position } from './position.ts';

type Members = Record<string, unknown>;
type Read = (value: unknown, position: Position) => unknown;

const odrl = 'http://www.w3.org/ns/odrl/2/';
const xsd = 'http://www.w3.org/2001/XMLSchema#';
const prefixes: Record<string, string> = {
  odrl,
  xsd,
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

/** A name in its usual spelling. */
const usual = (spellings: Readonly<Record<string, string>>, name: string): string =>
  (Object.hasOwn(spellings, name) ? spellings[name] : undefined) ?? name;

const bareIfText = (value: unknown): unknown => (typeof value === 'string' ? bare(value) : value);

const bareType = (type: string): string => type.replace(/^xsd:/, '').replace(xsd, '');

/** The items of a list, or the value itself. An object with other members is not a list, so that none of them is dropped. */
const list = (value: unknown): unknown[] => {
  const [[name, within] = [], ...more] = isObject(value) ? Object.entries(value) : [];
  const isList = more.length === 0 && (name === '@list' || name === '@set');
  return isList && Array.isArray(within) ? within : Array.isArray(value) ? value : [value];
};

/** The `@id` of an object, or of the only item of a list; anything else unchanged. */
function reference(value: unknown): unknown {
  if (Array.isArray(value) && value.length === 1) return reference(value[0]);
  if (!isObject(value)) return value;
  const [[name, id] = [], ...more] = Object.entries(value);
  return more.length === 0 && (name === '@id' || name === 'uid') ? id : value;
}

const vocabulary = (term: string): string => `${placeholder}/vocabulary/${term}`;

const term: Read = (value) => {
  const text = bareIfText(reference(value));
  return typeof text === 'string' && /^[A-Za-z]\w*$/.test(text) ? vocabulary(text) : text;
};

/** A bare unit: a period, a currency, or a time zone. */
const unit: Read = (value, position) => readUnit(value, position);

/** @param operand - what is compared: CET is a time zone for a clock, and otherwise a currency */
function readUnit(value: unknown, position: Position, operand?: unknown): unknown {
  const text = reference(value);
  if (typeof text !== 'string') return text;
  if (Object.hasOwn(periodSynonyms, text)) return vocabulary(periodSynonyms[text] ?? '');
  if (/^[A-Z]{3}$/.test(text) && text !== 'UTC')
    return vocabulary(`${typeof operand === 'string' && /(timeOfDay|dayOfWeek)$/.test(operand) ? 'timeZone' : 'currency'}#${text}`);
  return text === 'UTC' || /^[A-Z][A-Za-z]+(\/[A-Z][\w+-]*)+$/.test(text) ? vocabulary(`timeZone#${text}`) : term(text, position);
}

/** The members of an object by their canonical names. */
function members(object: Members, position: Position, reads: Record<string, Read> = {}): Members {
  const result: Members = {};
  for (const [given, value] of Object.entries(object)) {
    const name = usual(synonyms, bare(given));
    if (Object.hasOwn(result, name)) position.at(given).refuse(`repeats ${name}; remove it`);
    else result[name] = (Object.hasOwn(reads, name) ? reads[name]?.(value, position.at(given)) : undefined) ?? value;
  }
  return result;
}

/** Drops the id and type of an object, which its position already implies. */
function dropIdentity({ uid, type, ...rest }: Members, position: Position, kinds: readonly string[]): Members {
  const kind = reference(type);
  if (kind !== undefined && !(typeof kind === 'string' && kinds.includes(bare(kind))))
    position.at('type').refuse(`must be ${kinds.join(' or ')}, or be left out`);
  return rest;
}

function refuseMembers(members: object, position: Position): void {
  for (const name of Object.keys(members)) position.at(name).refuse('is not a known member; remove it');
}

const literal: Read = (value, position) => {
  if (Array.isArray(value)) return value.map((one, at) => literal(one, position.at(at)));
  if (!isObject(value)) return value;
  const items = list(value);
  if (items[0] !== value) return literal(items, position);
  const { '@value': given, '@type': type, ...more } = value;
  if (given === undefined) return reference(value);
  refuseMembers(more, position);
  return typed(given, type, position);
};

function typed(given: unknown, type: unknown, position: Position): unknown {
  if (type === undefined || given === undefined) return given;
  const name = bareType(String(type));
  if (!['string', 'number', 'boolean'].includes(typeof given))
    position.refuse('must be a single string, number or boolean if it has a type');
  const text = String(given);
  if (name === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (name === 'time') return text.replace(/^(\d\d:\d\d):00$/, '$1');
  if (numberTypes.test(name)) {
    const [, sign = '', digits] = /^(?:\+|(-))?0*((?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?)$/i.exec(text) ?? [];
    const isMeant = digits !== undefined && (/^(double|float)$/.test(name) || !/e/i.test(digits));
    const number = isMeant ? toDouble(toNumeric(sign + digits)) : undefined;
    if (number === undefined) position.refuse('must be a decimal number that is exact as a 64-bit floating point number');
    return number ?? 0;
  }
  if (!textTypes.test(name)) position.refuse('must have a supported XML Schema type: number, string, boolean, date or time');
  return text;
}

const operator: Read = (value) => {
  const text = reference(value);
  return typeof text === 'string' ? usual(operatorSynonyms, bare(text)) : text;
};

/** @param target - of the rule, for bare `parameters/<name>` */
function constraint(value: unknown, position: Position, target?: unknown): unknown[] {
  if (!isObject(value)) return [value];
  const read = members(value, position, { leftOperand: term, operator, rightOperand: literal });
  const { and, dataType, ...rest } = dropIdentity(read, position, ['Constraint', 'LogicalConstraint']);
  if (and !== undefined) {
    const conditions = list(and);
    // without conditions, the rule would hold for every call
    if (conditions.length === 0) position.at('and').refuse('must not be empty');
    const all = conditions.flatMap((one, at) => constraint(one, position.at('and', at), target));
    return Object.keys(rest).length > 0 ? [...all, rest] : all;
  }
  const { leftOperand, rightOperand } = rest;
  if (rest.unit !== undefined) rest.unit = readUnit(rest.unit, position, leftOperand);
  if (typeof leftOperand === 'string' && /^parameters\/[^/]+$/.test(leftOperand) && typeof target === 'string')
    rest.leftOperand = `${target}/${leftOperand}`;
  if (dataType !== undefined) rest.rightOperand = typed(rightOperand, reference(dataType), position.at('rightOperand'));
  const right = rest.rightOperand;
  if (rest.operator === 'within') {
    if (right !== undefined && !Array.isArray(right)) rest.rightOperand = [right];
    // expanded JSON-LD has every value in a list
  } else if (Array.isArray(right) && right.length === 1) [rest.rightOperand] = right;
  return [rest];
}

function refined(value: unknown, position: Position, of: 'value' | 'source', kinds: readonly string[]) {
  const one = reference(value);
  if (!isObject(one)) return { name: one, refinement: [] };
  const read = members(one, position);
  const { [of]: named = read.uid, refinement = [], ...rest } = dropIdentity(read, position, kinds);
  refuseMembers(rest, position);
  return { name: reference(named), refinement: list(refinement) };
}

const refinable = [
  ['target', 'source', ['Asset', 'AssetCollection']],
  ['action', 'value', ['Action']],
] as const;

/** What a policy may state for all its rules, and a rule for several rules (ODRL 2.7: compact policies and atomic rules). */
const shared = ['target', 'assignee'] as const;

/** Splits a rule into one for each of its targets and assignees. @param common - what the policy states for all rules */
function atomicRules(value: unknown, position: Position, kinds: readonly string[], common: Members): unknown[] {
  if (!isObject(value)) return [value];
  const read = dropIdentity(members(value, position), position, kinds);
  let split = [read];
  for (const name of shared) {
    if (common[name] !== undefined && read[name] !== undefined)
      position.at(name).refuse('is stated for the whole policy too; state it in one place');
    const stated = read[name] ?? common[name];
    if (stated === undefined) continue;
    const values = list(stated);
    // an empty list stays, so that it is refused: without it, the rule would be for all
    split = split.flatMap((one) => (values.length > 0 ? values : [stated]).map((value) => ({ ...one, [name]: value })));
  }
  // what is listed twice counts once, because the prices of several rules add up
  return [...new Map(split.map((one) => rule(one, position)).map((one) => [JSON.stringify(one), one])).values()];
}

/** The id of an assignee. An object without one stays, so that it is refused: without an assignee, the rule would be for all. */
function party(value: unknown, position: Position): unknown {
  const { name = value, refinement } = refined(value, position, 'source', ['Party', 'PartyCollection']);
  if (refinement.length > 0) refuseMembers({ refinement }, position);
  return name;
}

/** Turns the refinements of a target or action into constraints of the rule. */
function rule(read: Members, position: Position): Members {
  if (read.assignee !== undefined) read.assignee = party(read.assignee, position.at('assignee'));
  const refinements = refinable.flatMap(([member, of, names]) => {
    if (read[member] === undefined) return [];
    const { name, refinement } = refined(read[member], position.at(member), of, names);
    read[member] = member === 'action' ? bareIfText(name) : name;
    return refinement;
  });
  if (read.constraint !== undefined || refinements.length > 0) {
    const constraints = [...(read.constraint === undefined ? [] : list(read.constraint)), ...refinements];
    read.constraint = constraints.flatMap((one, at) => constraint(one, position.at('constraint', at), read.target));
  }
  if (read.duty !== undefined) read.duty = list(read.duty).map((one, at) => duty(one, position.at('duty', at)));
  return read;
}

/** Turns the refinements of the action `compensate` into members. */
const duty: Read = (value, position) => {
  if (!isObject(value)) return value;
  const amount: Read = (given, at) => (isObject(given) && '@value' in given ? literal(given, at) : given);
  const read = dropIdentity(members(value, position, { target: reference, unit, amount, timeInterval: literal }), position, ['Duty']);
  const action = position.at('action');
  const { name, refinement } = refined(read.action, action, 'value', ['Action']);
  const known = bareIfText(name);
  read.action = known === 'compensate' ? 'pay' : known === 'approve' ? vocabulary(known) : known;
  const refinements = refinement.flatMap((given, at) => constraint(given, action.at('refinement', at)));
  for (const [at, one] of refinements.entries()) {
    const { leftOperand, operator, rightOperand, unit: currency } = isObject(one) ? one : {};
    const subject = String(leftOperand).split(/[/#:]/).at(-1);
    if (operator === 'eq' && subject === 'timeInterval') read.timeInterval = rightOperand;
    else if (operator === 'eq' && subject === 'payAmount')
      Object.assign(read, { amount: rightOperand }, currency === undefined ? {} : { unit: currency });
    else action.at('refinement', at).refuse('must be payAmount or timeInterval with eq');
  }
  return read;
};

const rules =
  (kinds: readonly string[], common: Members): Read =>
  (value, position) =>
    list(value).flatMap((one, at) => atomicRules(one, position.at(at), kinds, common));

const isKnownContext = (context: unknown): boolean =>
  isObject(context)
    ? Object.entries(context).every(([prefix, meaning]) => prefixes[prefix] === meaning)
    : typeof context === 'string' && context.replace(/^https:/, 'http:') === odrlContext;

const policyType: Read = (value) => {
  const kind = reference(value);
  return typeof kind === 'string' ? bare(kind).replace(/^Policy$/, 'Set') : kind;
};

/**
 * Normalises a policy file to the form that agents are served: ODRL's JSON-LD allows many spellings of one policy, and a signature needs one. Bare
 * terms become URIs, objects with `@id` or `@value` become their values, and single values become lists where a list is expected. Parts in that form
 * are left unchanged. Members without meaning for the gate are kept, so that they can be refused by name.
 * @returns the policy, and the issues that prevent normalisation
 */
export function normalizePolicy(file: unknown): { value: unknown; issues: Issue[] } {
  const issues: Issue[] = [];
  if (!isObject(file)) return { value: file, issues };
  const { $schema, ...written } = file;
  const common = members(written, new Position([]));
  const { target, assignee, ...policy } = members(written, new Position(issues), {
    '@context': (value) => (list(value).every(isKnownContext) ? odrlContext : value),
    uid: reference,
    type: policyType,
    profile: reference,
    conflict: (value) => bareIfText(reference(value)),
    permission: rules(['Permission', 'Rule'], common),
    prohibition: rules(['Prohibition', 'Rule'], common),
    // what agents sign is the policy, not its target
    obligation: rules(['Duty', 'Obligation', 'Rule'], { assignee: common.assignee }),
  });
  const { '@context': context = odrlContext, uid = `${placeholder}/api/policy`, type = 'Set' } = policy;
  const isComplete = ['@context', 'uid', 'type'].every((name) => name in policy);
  return { value: isComplete ? policy : { ...{ '@context': context, uid, type }, ...policy }, issues };
}
