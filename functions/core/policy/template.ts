import * as z from 'zod';
import type { Issue } from '../../../schemas/errors.ts';
import { isRawNumber, parseExact, toDouble } from '../../../schemas/number.ts';
import { type Policy, policy } from '../../../schemas/policy.ts';
import { describeHidden } from '../../../schemas/text.ts';
import { isDeeper, isObject, issuesOf, isWithin, maxLevels, parseJson, pointer } from '../json/json.ts';
import { describeJsonError } from '../json/json-error.ts';
import { ApiError } from '../runtime/api-error.ts';
import { placeholder } from './placeholder.ts';
import { interpretPolicy, PolicyError } from './reading.ts';
import { normalizePolicy } from './spellings.ts';

/** A policy with unfilled placeholders. */
export type PolicyTemplate = Policy;

/**
 * Parses a policy file, in any of ODRL's spellings, and normalises it to the one that agents are served.
 * @param baseUrl - value of the placeholder
 * @throws PolicyError if it is not JSON or not a policy (specification section 2.3), naming every place, also those that the gate does not
 * understand
 */
export function parsePolicyTemplate(text: string, baseUrl = 'https://gate.example'): PolicyTemplate {
  const { value: written, issues: repeated } = parseText(text.replace(/^\ufeff/, ''));
  const { value, issues: misspelt } = normalizePolicy(written);
  const filled = fillIn(value, baseUrl);
  const result = policy.safeParse(filled, { reportInput: true });
  const issues = [...repeated, ...misspelt, ...(result.success ? [] : issuesOf(result.error)), ...findIn(value, describeInvisible)];
  if (issues.length > 0) throw new PolicyError([...issues, ...findMisunderstood(filled, baseUrl, issues)]);
  // not zod's copy, whose members are in schema order: agents sign the text that they were served
  return value as PolicyTemplate;
}

/** Keeps the well-formed parts of a policy. Other parts are dropped, or become values that the gate does not understand. */
const readable = (intents: string) => {
  const list = <T extends z.ZodType>(element: T) => z.array(element).optional().catch(undefined);
  const part = <T extends z.ZodRawShape>(shape: T) => z.object(shape).catch(() => z.object(shape).parse({}));
  const text = z.string().catch('');
  const optionalText = z.string().optional().catch(undefined);
  const amount = z.union([z.number(), z.record(z.string(), z.json())]).optional();
  const constraint = part({ leftOperand: text, operator: text, rightOperand: z.json().catch(null), unit: optionalText });
  const duty = part({
    action: text,
    target: optionalText,
    amount: amount.catch(undefined),
    unit: optionalText,
    timeInterval: optionalText,
  });
  const common = { action: text, assignee: optionalText, constraint: list(constraint) };
  const rule = part({ target: z.string().catch(intents), ...common, duty: list(duty) });
  const obligation = part({ target: optionalText, ...common });
  return z.object({ uid: text, permission: list(rule), prohibition: list(rule), obligation: list(obligation) });
};

/** Issues with well-formed parts of a malformed policy that the gate does not understand. */
function findMisunderstood(filled: unknown, baseUrl: string, known: readonly Issue[]): Issue[] {
  const { success, data } = readable(`${baseUrl}/api/intents`).safeParse(filled);
  if (!success) return [];
  try {
    interpretPolicy(data as Policy, baseUrl);
    return [];
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const paths = known.map(({ path }) => path).filter((path) => path !== '');
    const isSaid = (path: string) => paths.some((one) => isWithin(one, path) || isWithin(path, one));
    // an issue about all prohibitions may be due to a part that has been replaced
    return error.issues.filter(({ path }) => path !== '/prohibition' && !isSaid(path));
  }
}

function findIn(value: unknown, problemOf: (value: unknown) => string | undefined, at: readonly PropertyKey[] = []): Issue[] {
  const problem = problemOf(value);
  const inside = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  return [
    ...(problem === undefined ? [] : [{ path: pointer(at), problem }]),
    ...inside.flatMap(([name, member]) => findIn(member, problemOf, [...at, name])),
  ];
}

/** People must be able to see all of what they sign. */
const describeInvisible = (value: unknown) => (typeof value === 'string' ? describeHidden(value, false) : undefined);

/** A rounded constant would not be the one that people read and sign. */
const describeRounded = (value: unknown) =>
  isRawNumber(value) && toDouble(value) === undefined
    ? 'must be a number that IEEE 754 double precision holds exactly; write it with fewer digits'
    : undefined;

/** Stricter than `JSON.parse`, which keeps only the last of several members with the same name. */
function parseText(text: string): { value: unknown; issues: Issue[] } {
  try {
    const value = parseJson(text);
    return { value, issues: findIn(parseExact(text), describeRounded) };
  } catch (refusal) {
    if (!(refusal instanceof ApiError)) throw refusal;
    try {
      const value = JSON.parse(text);
      const issues = (refusal.details.issues as Issue[] | undefined) ?? [];
      if (isDeeper(value, maxLevels)) throw new PolicyError(issues);
      return { value, issues };
    } catch (error) {
      if (error instanceof PolicyError) throw error;
      throw new PolicyError([{ path: '', problem: `must be JSON: ${describeJsonError(text)}` }]);
    }
  }
}

/** The policy for callers of the gate at `baseUrl` (without a trailing slash). */
export const fillTemplate = (template: PolicyTemplate, baseUrl: string): Policy => fillIn(template, baseUrl) as Policy;

const fillIn = (value: unknown, baseUrl: string): unknown =>
  JSON.parse(JSON.stringify(value), (_, member) => (typeof member === 'string' ? member.replaceAll(placeholder, () => baseUrl) : member));
