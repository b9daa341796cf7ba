import { mayBeHeader } from '../../../functions/core/parameters/constraints.ts';
import { fieldValue, openFieldName } from '../../../schemas/header.ts';
import type { Numeric } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { type Input, isCompound } from './body.ts';
import { anything, type Facts } from './facts.ts';
import { follow, list, type Node, node, pathOf, type TakeNote, Unfit, written } from './node.ts';
import { type Operation, readParameters } from './operation.ts';

/** Header fields that every call of an intent carries, or that no API needs from its callers. */
const suppliedHeaders = ['accept', 'content-type', 'user-agent', 'x-request-id', 'accept-encoding', 'host', 'content-length'];

const credentialHeader =
  /^(authorization|token|(x-)?(.*-)?(api|access|auth|subscription)[-_]?(key|token)|x-functions-key|x-api-secret|private-token)$/;

/** Where callers prove themselves, by the names of header fields (in lower case), query parameters and cookies. */
export interface CredentialNames {
  header: ReadonlySet<string>;
  query: ReadonlySet<string>;
  cookie: ReadonlySet<string>;
}

/** What an import does with the header parameters of a document. */
export interface HeaderRules {
  credentials: CredentialNames;
  /** by name in lower case: what every call of the service's intents carries */
  fixed: ReadonlyMap<string, { name: string; value: string }>;
  /** in lower case: what is neither needed nor asked for */
  ignored: ReadonlySet<string>;
}

/** Header fields that callers may choose: not those that steer the connection, or that say who calls. */
const mayBeField = (name: string): boolean => openFieldName.safeParse(name).success;

const lower = (parameter: Node): string => String(parameter.name).toLowerCase();

/** All parameters in headers, one for each operation that has it. Those that cannot be read come to light with their operation. */
function headersOf(operations: readonly Operation[]): Node[] {
  return operations.flatMap(({ pathItem, node: operation }) => {
    try {
      return readParameters(pathItem, operation).filter((parameter) => parameter.in === 'header');
    } catch (error) {
      if (error instanceof Unfit) return [];
      throw error;
    }
  });
}

/** The one value that a header parameter can have; a version's default is one too. */
function constantOf(parameter: Node): string | Numeric | undefined {
  const schema = node(follow(parameter.schema ?? parameter));
  const allowed = list(schema.enum);
  const value = schema.const ?? (allowed.length === 1 ? allowed[0] : /version/.test(lower(parameter)) ? schema.default : undefined);
  return fieldValue.safeParse(written(value)).success ? (value as string | Numeric) : undefined;
}

/**
 * Finds the header fields that are the same in every call: those that most operations have, and that have one value wherever they are.
 * @param given - what the importing admin says, which comes first
 */
export function findFixedHeaders(
  operations: readonly Operation[],
  credentials: CredentialNames,
  given: Readonly<Record<string, string>>,
): HeaderRules['fixed'] {
  const fixed = new Map<string, { name: string; value: string }>();
  for (const [name, parameters] of Map.groupBy(headersOf(operations), lower)) {
    if (parameters.length * 2 < operations.length || isHandled(name, credentials)) continue;
    const [value, ...others] = new Set(parameters.map((parameter) => written(constantOf(parameter))));
    if (value !== undefined && others.length === 0) fixed.set(name, { name: String(parameters[0]?.name), value });
  }
  for (const [name, value] of Object.entries(given)) fixed.set(name.toLowerCase(), { name, value });
  return fixed;
}

const isCredential = (name: string, { header }: CredentialNames): boolean => header.has(name) || credentialHeader.test(name);
const isHandled = (name: string, credentials: CredentialNames): boolean =>
  suppliedHeaders.includes(name) || !mayBeField(name) || name === 'idempotency-key' || isCredential(name, credentials);

/** The names by which callers prove themselves: those of the security schemes, and of headers that can be nothing else. */
export function readCredentialNames(schemes: Node, operations: readonly Operation[]): CredentialNames {
  const keys = Object.values(schemes)
    .map((scheme) => node(follow(scheme)))
    .filter(({ type }) => type === 'apiKey');
  const named = (place: string) => keys.filter((key) => key.in === place).map(({ name }) => String(name));
  const likely = headersOf(operations)
    .map(lower)
    .filter((name) => credentialHeader.test(name));
  return {
    header: new Set([...named('header').map((name) => name.toLowerCase()), ...likely]),
    query: new Set(named('query')),
    cookie: new Set(named('cookie')),
  };
}

/** Whether a parameter in a query or form is what the service's credential is for: some APIs take it there as well as in a header. */
export const isCredentialField = (name: string, { header, query }: CredentialNames): boolean =>
  query.has(name) || (header.has(name.toLowerCase()) && /token|key|secret/i.test(name));

/**
 * A parameter in a header or cookie as an input, if it has to be one.
 * @throws Unfit if the operation needs what a call does not send
 */
export function fitHeader(parameter: Node, read: () => Input, { credentials, fixed, ignored }: HeaderRules, take: TakeNote): Input[] {
  const name = lower(parameter);
  const path = pathOf(parameter);
  const note = (words: string): [] => {
    take(path, `the ${parameter.in} ${parameter.name} was left out: ${words}`);
    return [];
  };
  if (parameter.in === 'cookie') {
    if (credentials.cookie.has(String(parameter.name))) return note("it is the service's credential, which the gate adds to its calls");
    if (parameter.required === true) throw new Unfit(path, `needs the cookie ${parameter.name}, and a call sends no cookies of the caller`);
    return note('a call sends no cookies of the caller');
  }
  if (fixed.has(name)) return [];
  if (ignored.has(name)) return note('as --ignore-header says');
  if (isCredential(name, credentials)) return note("it is the service's credential, which the gate adds to its calls");
  if (suppliedHeaders.includes(name)) return [];
  if (name === 'idempotency-key') return note('a call carries the one that the agent sends');
  if (!mayBeField(name)) {
    if (parameter.required === true) throw new Unfit(path, `needs the header ${parameter.name}, which callers may not choose`);
    return note('callers may not choose it');
  }
  const input = read();
  return [{ ...input, facts: toField(input.facts, constantOf(parameter)) }];
}

/** The values of a header field are texts, numbers, true or false; the one value that it can have need not be given by the agent. */
function toField(facts: Facts, value: string | Numeric | undefined): Facts {
  const types = [...(facts.types ?? [])].filter((type) => type !== 'null');
  const isSimple = types.length === 1 && types.every((type) => mayBeHeader(type as Parameter['type']));
  const described = [facts.description, isCompound(facts) ? 'Several values are separated by commas.' : ''].filter(Boolean).join(' ');
  const field: Facts = isSimple ? facts : { ...anything, types: new Set(['string']), description: described || undefined };
  const fallback = field.types?.has('string') ? written(value) : value;
  return fallback === undefined ? field : { ...field, default: fallback };
}
