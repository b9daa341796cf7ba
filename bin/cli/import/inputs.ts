import { hasBody } from '../../../functions/core/relay/endpoint.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { type Input, isCompound, joinedOtherwise, leaveOut, readBodyInputs, type Spelling } from './body.ts';
import { allOf, anything, type Facts } from './facts.ts';
import { type Node, node, pathOf, type TakeNote, text, Unfit } from './node.ts';
import { type Operation, type Reading, readParameters, unplaced } from './operation.ts';
import { keepMost, makeParameter, maxParameters } from './parameter.ts';

const places = ['path', 'query', 'header', 'cookie'] as const;

/** The names that a place in a URL template may have. */
const placeName = /^[A-Za-z0-9_.-]+$/;

/** Header fields that every call of an intent carries, or that no API needs from its callers. */
const suppliedHeaders = ['accept', 'content-type', 'user-agent', 'x-request-id', 'accept-encoding', 'host', 'content-length'];
const credentialHeader =
  /^(authorization|(x-)?(api|access|auth|subscription)[-_]?(key|token)|x-functions-key|ocp-apim-subscription-key|private-token)$/i;

/** What an intent takes, and the call that it becomes. */
export interface Request {
  inputs: Parameter[];
  /** path and query of the URL template */
  template: string;
  contentType: string;
}

export interface RequestContext extends Reading {
  /** header names of the document's security schemes, in lower case */
  credentialHeaders: ReadonlySet<string>;
}

/**
 * Makes the input parameters and the URL template of an operation.
 * @throws Unfit if a call of an intent cannot carry what the operation needs
 */
export function makeRequest(operation: Operation, context: RequestContext): Request {
  const { take } = context;
  const parameters = Map.groupBy(readParameters(operation.pathItem, operation.node), (parameter) => {
    const place = places.find((known) => known === parameter.in);
    if (place === undefined) throw unplaced(parameter, operation.node);
    return place;
  });
  for (const place of ['header', 'cookie'] as const)
    for (const parameter of parameters.get(place) ?? []) leaveHeaderOut(parameter, context);
  const body = readBodyInputs(operation, context);
  const query = (parameters.get('query') ?? []).flatMap((parameter) => readQuery(parameter, operation, context));
  const members = settle([...body.inputs, ...query], take);
  const { path, inputs } = readPath(operation, parameters.get('path') ?? [], new Set(members.map(({ name }) => name)), context);
  const kept = limit([...inputs, ...members], operation, take);
  const made = kept.flatMap((input) => {
    const parameter = makeParameter(input.name, input.isRequired, input.facts, input.path, take);
    return parameter ?? leaveOut(input, 'no parameter may have its name', take);
  });
  const names = new Set(made.map(({ name }) => name));
  const placed = kept.filter((input) => input.in === 'query' && isPlaced(input, operation) && names.has(input.name));
  const operator = path.includes('?') ? '&' : '?';
  const expansion = placed.length > 0 ? `{${operator}${placed.map(({ name }) => name).join(',')}}` : '';
  return { inputs: made, template: path + expansion, contentType: body.contentType };
}

/** A call sends none of the caller's headers or cookies. */
function leaveHeaderOut(parameter: Node, { credentialHeaders, take }: RequestContext): void {
  const what = `${parameter.in} ${parameter.name}`;
  const name = String(parameter.name).toLowerCase();
  const path = pathOf(parameter);
  const isHeader = parameter.in === 'header';
  if (isHeader && suppliedHeaders.includes(name)) return;
  if (isHeader && (credentialHeaders.has(name) || credentialHeader.test(name))) {
    take(path, `the ${what} was left out: it is the service's credential, which the gate adds to its calls`);
  } else if (isHeader && name === 'idempotency-key') {
    take(path, 'the header Idempotency-Key was left out: a call carries the one that the agent sends');
  } else if (parameter.required === true) {
    throw new Unfit(path, `needs the ${what}, and a call sends no ${parameter.in}s of the caller`);
  } else take(path, `the ${what} was left out: a call sends no ${parameter.in}s of the caller`);
}

/** In the query of GET and DELETE, parameters without a place are written in OpenAPI's default way. All others need a place. */
const isPlaced = ({ spelling, facts }: Input, { method }: Operation): boolean =>
  hasBody(method) || (spelling === 'commas' && isCompound(facts));

function readQuery(parameter: Node, operation: Operation, reading: Reading): Input[] {
  const { take } = reading;
  const input = readParameter(parameter, 'query', reading);
  const isList = isCompound(input.facts);
  if (isList && input.spelling === 'other') return leaveOut(input, joinedOtherwise, take);
  if (isList && input.spelling === 'repeated' && hasBody(operation.method)) {
    return leaveOut(input, `a call with ${operation.method} does not repeat a parameter in the query`, take);
  }
  if (isPlaced(input, operation) && !placeName.test(input.name))
    return leaveOut(input, 'no place in a URL template may have its name', take);
  return [input];
}

function readParameter(parameter: Node, place: 'path' | 'query', { readSchema, take }: Reading): Input {
  const name = String(parameter.name);
  const path = pathOf(parameter);
  const [content] = Object.values(node(parameter.content));
  const schema = readSchema(content === undefined ? parameter.schema : node(content).schema);
  const described = allOf([{ ...anything, description: text(parameter.description) }, schema]);
  const spelling = readSpelling(parameter, place);
  const input: Input = { name, in: place, isRequired: parameter.required === true, spelling, facts: described, path };
  if (content === undefined) return input;
  take(path, `${name} is JSON written into the ${place}; it was made a text`);
  const description = [described.description, 'Written as JSON text.'].filter(Boolean).join(' ');
  return { ...input, spelling: 'repeated', facts: { ...anyText, description } };
}

const anyText: Facts = { ...anything, types: new Set(['string']) };

function readSpelling({ style, explode }: Node, place: 'path' | 'query'): Spelling {
  const usual = place === 'query' ? 'form' : 'simple';
  if ((text(style) ?? usual) !== usual) return 'other';
  return place === 'path' || explode === false ? 'commas' : 'repeated';
}

/** One parameter has one value: if two share a name, one is left out. */
function settle(inputs: Input[], take: TakeNote): Input[] {
  const kept = new Map<string, Input>();
  for (const input of inputs) {
    const name = input.name.normalize('NFC');
    const other = kept.get(name);
    const loser = other && (input.isRequired ? other : input);
    if (loser) leaveOut(loser, 'another parameter has the same name', take);
    if (loser === input) continue;
    kept.delete(name);
    kept.set(name, input);
  }
  return [...kept.values()];
}

/** The places of the path, each with its parameter. Their names matter only inside the template, so they give way to others. */
function readPath(operation: Operation, parameters: Node[], taken: Set<string>, reading: Reading): { path: string; inputs: Input[] } {
  const { take } = reading;
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const inputs = new Map<string, Input>();
  const path = operation.path.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name?: string) => {
    if (name === undefined) return encodeLiteral(literal);
    const input = inputs.get(name) ?? readPlace(name, known.get(name), operation, reading);
    if (!inputs.has(name)) {
      const renamed = rename(name, new Set([...taken, ...[...inputs.values()].map((other) => other.name)]));
      if (renamed !== name) take(input.path, `the path parameter ${name} is called ${renamed} in the intent`);
      inputs.set(name, { ...input, name: renamed });
    }
    return `{${inputs.get(name)?.name}}`;
  });
  for (const parameter of parameters) {
    if (!inputs.has(String(parameter.name)))
      take(pathOf(parameter), `the path parameter ${parameter.name} was left out: the path has no such place`);
  }
  return { path, inputs: [...inputs.values()] };
}

function readPlace(name: string, parameter: Node | undefined, operation: Operation, reading: Reading): Input {
  const path = pathOf(operation.node);
  if (parameter === undefined) {
    reading.take(path, `the path's place ${name} is not described; it was made a required text`);
    return { name, in: 'path', isRequired: true, spelling: 'commas', facts: anyText, path };
  }
  const input = readParameter(parameter, 'path', reading);
  if (input.spelling === 'other') throw new Unfit(input.path, `has the path parameter ${name} in a style that a call does not use`);
  return { ...input, isRequired: true };
}

function rename(name: string, taken: Set<string>): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_') || 'place';
  for (let candidate = plain; ; candidate = `path_${candidate}`) if (!taken.has(candidate) && candidate !== '__proto__') return candidate;
}

/** Percent-encodes what may not appear in a URL as it is. */
const encodeLiteral = (text: string): string =>
  text.replace(/%(?![0-9a-f]{2})|[^\w\-.~:/?#[\]@!$&'()*+,;=%]/giu, (character) => encodeURIComponent(character));

function limit(inputs: Input[], operation: Operation, take: TakeNote): Input[] {
  const path = pathOf(operation.node);
  if (inputs.filter(({ isRequired }) => isRequired).length > maxParameters)
    throw new Unfit(path, `needs more than ${maxParameters} parameters`);
  return keepMost(inputs, ({ isRequired }) => isRequired, 'optional parameters were left out: an intent has at most', path, take);
}
