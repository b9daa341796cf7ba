import { hasBody, isJsonType } from '../../functions/core/relay/endpoint.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { type BodyInputs, carriesByDefault, readBodyInputs } from './body.ts';
import { allOf, anything, type Facts } from './facts.ts';
import { fitHeader, type HeaderRules, isCredentialField, readAccept, readIdempotencyKey } from './headers.ts';
import { type Input, isCompound, joinedOtherwise, leaveOut, readStyle } from './input.ts';
import { describeInside } from './nested.ts';
import { type AddNote, type Node, type Note, node, pathOf, text, Unfit } from './node.ts';
import { type Operation, type Reading, readParameters, unplaced } from './operation.ts';
import { keepMost, makeParameter, maxParameters } from './parameter.ts';
import { orNull } from './schema.ts';
import { encodeLiteral } from './text.ts';

const locations = ['path', 'query', 'header', 'cookie', 'querystring'] as const;

interface Request {
  inputs: Parameter[];
  /** path and query of the URL template */
  template: string;
  endpoint: Omit<IntentEndpoint, 'url' | 'method'>;
}

export interface RequestContext extends Reading {
  headers: HeaderRules;
}

/** @throws Unfit if a call cannot carry something that the operation needs */
export function makeRequest(operation: Operation, context: RequestContext): Request {
  const { asWhole, ...body } = readBodyInputs(operation, context);
  // notes on a failed attempt are discarded
  const attempt = (tried: BodyInputs): Request => {
    const notes: Note[] = [];
    const request = assemble(operation, tried, { ...context, addNote: (path, note) => notes.push({ path, note }) });
    for (const { path, note } of notes) context.addNote(path, note);
    return request;
  };
  try {
    return attempt(body);
  } catch (error) {
    if (!(error instanceof Unfit) || asWhole === undefined) throw error;
    return attempt(asWhole());
  }
}

function assemble(given: Operation, body: BodyInputs, context: RequestContext): Request {
  const { addNote, headers } = context;
  const parameters = Map.groupBy(readParameters(given.pathItem, given.node), (parameter) => {
    const location = locations.find((known) => known === parameter.in);
    if (location === undefined) throw unplaced(parameter, given.node);
    return location;
  });
  const { path: withQuery, fixed } = splitQuery(given.path, namesOf(parameters.get('query')), namesOf(parameters.get('path')));
  const operation = { ...given, path: withQuery };
  const inHeaders = [...(parameters.get('header') ?? []), ...(parameters.get('cookie') ?? [])].flatMap((parameter) =>
    fitHeader(parameter, () => readParameter(parameter, 'header', context), headers, addNote),
  );
  const query = [...(parameters.get('query') ?? []), ...(parameters.get('querystring') ?? [])].flatMap((parameter) => {
    if (!fixed.has(String(parameter.name))) return readQuery(parameter, context);
    addNote(pathOf(parameter), `the parameter ${parameter.name} was left out: the path gives its value`);
    return [];
  });
  // an operation without security, such as one that resets a password, takes a field of the same name for itself
  const isOpen = Array.isArray(operation.node.security) && operation.node.security.length === 0;
  const isForOperation = (input: Input) => isOpen && (input.isRequired || !headers.credentials.query.has(input.name));
  const isSecret = (input: Input) => !isForOperation(input) && isCredential(input, context);
  const fields = body.kind === 'whole' ? [] : body.inputs.filter((input) => isJsonType(body.contentType) || !isSecret(input));
  const carried = [...fields, ...query.filter((input) => !isSecret(input))];
  const whole = body.kind === 'whole' ? nameWhole(body.inputs, [...carried, ...inHeaders]) : [];
  const members = leaveOutNamesakes(nameDescribing([...whole, ...carried, ...inHeaders], operation.path), addNote);
  const { path, inputs } = readPath(operation, parameters.get('path') ?? [], new Set(members.map(({ name }) => name)), context);
  const usual = carriesByDefault(operation.method, body);
  const made = limit([...inputs, ...members], operation, addNote).flatMap((input) => {
    const { name, isRequired, facts, in: carrier, of, style, contentType } = input;
    const parameter = makeParameter(name, isRequired, facts, input.path, addNote, carrier === 'header' ? carrier : undefined);
    if (parameter === undefined) return leaveOut(input, 'no parameter may have its name', addNote);
    const isNullSent = carrier === 'body' && isJsonType(body.contentType);
    const isUsual = carrier === 'path' || carrier === usual || (carrier === 'body' && body.kind === 'whole');
    const written = {
      ...(of !== undefined && { of: of.normalize('NFC') }),
      ...(style !== undefined && { style }),
      ...(contentType !== undefined && { content_type: contentType }),
    };
    const isRemovable = isNullSent && body.kind === 'members' && !isRequired && body.contentType.startsWith('application/merge-patch+json');
    return [
      { parameter: { ...parameter, ...(!isUsual && { in: carrier }), ...written }, facts: isRemovable ? orNull(facts) : facts, isNullSent },
    ];
  });
  const sent = whole[0]?.name ?? (body.kind === 'none' && hasBody(operation.method) ? null : undefined);
  // without an input that was left out, or that another one has replaced, nothing describes it
  const isThere = (of: string) => made.some(({ parameter }) => parameter.name === of && parameter.of === undefined);
  const complete = made.filter(({ parameter: { of } }) => of === undefined || isThere(of));
  const isOptional = body.isOptional && (hasBody(operation.method) || body.inputs.some((input) => input.isRequired));
  const accept = readAccept(operation);
  const idempotencyKey = readIdempotencyKey(parameters.get('header') ?? [], context);
  return {
    inputs: describeInside(complete, pathOf(operation.node), addNote),
    template: path,
    endpoint: {
      content_type: body.contentType,
      ...(sent !== undefined && { body: sent }),
      ...(isOptional && { optional_body: true as const }),
      ...(accept !== undefined && { accept }),
      ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    },
  };
}

const namesOf = (parameters: readonly Node[] = []): ReadonlySet<string> => new Set(parameters.map(({ name }) => String(name)));

/** A place for a value, in the spellings of routers and documentation. */
const placeholder = /^$|^\{([^{}]*)\}$|^:\w+$|^<[^<>]*>$|^\*$/;

/**
 * Some documents write queries into their paths, too, and also declare them. A declared parameter fills its place there itself.
 * @returns with the names whose values the path gives
 */
function splitQuery(path: string, declared: ReadonlySet<string>, inPath: ReadonlySet<string>) {
  const [, before = path, query] = /^([^?#]*)\?([^#]*)/.exec(path) ?? [];
  const kept = (query?.split('&') ?? []).filter((pair) => {
    const [name = '', value] = pair.split(/=(.*)/s);
    const [place, variable = ''] = placeholder.exec(value ?? '-') ?? [];
    return place === undefined || !declared.has(name) || inPath.has(variable);
  });
  return {
    path: kept.join('&') === (query ?? '') ? path : [before, ...(kept.length > 0 ? [kept.join('&')] : [])].join('?'),
    fixed: new Set(kept.map((pair) => pair.split('=', 1)[0] ?? '')),
  };
}

/** Names the body, which has no name in the document. */
function nameWhole(inputs: readonly Input[], others: readonly Input[]): Input[] {
  const body = others.some(({ name }) => name === 'body') ? 'request_body' : 'body';
  return inputs.map((input) => (input.of === undefined ? { ...input, name: body } : { ...input, of: body }));
}

/** Names file names and media types, which have no name in the document, apart from the inputs that do. */
function nameDescribing(inputs: readonly Input[], path: string): Input[] {
  const named = inputs.flatMap(({ name, of }) => (of === undefined ? name : []));
  const taken = new Set([...named, ...[...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)]);
  return inputs.map((input) => (input.of === undefined ? input : { ...input, name: rename(input.name, taken, 'body_') }));
}

function isCredential(input: Input, { headers, addNote }: RequestContext): boolean {
  if (!isCredentialField(input, headers.credentials)) return false;
  addNote(input.path, `the parameter ${input.name} was left out: it is the service's credential, which the gate adds to its calls`);
  return true;
}

function readQuery(parameter: Node, reading: Reading): Input[] {
  const { addNote } = reading;
  const input = readParameter(parameter, 'query', reading);
  if (parameter.in === 'querystring') return leaveOut(input, 'it stands for the whole query, which is not supported', addNote);
  if (parameter.allowReserved === true) addNote(input.path, `reserved characters in ${input.name} are percent-encoded all the same`);
  if (parameter.content !== undefined) return [input];
  const style = readStyle(parameter, 'form');
  if (input.facts.types !== undefined && !isCompound(input.facts)) return [input];
  if (style !== 'other') return [{ ...input, ...style }];
  return input.facts.types === undefined ? [input] : leaveOut(input, joinedOtherwise, addNote);
}

function readParameter(parameter: Node, location: 'path' | 'query' | 'header', { readSchema, addNote }: Reading): Input {
  const name = String(parameter.name);
  const path = pathOf(parameter);
  const [[mediaType, content] = []] = Object.entries(node(parameter.content));
  const schema = readSchema(content === undefined ? parameter.schema : node(content).schema);
  const described = allOf([{ ...anything, description: text(parameter.description) }, schema]);
  const input: Input = { name, in: location, isRequired: parameter.required === true, facts: described, path };
  if (mediaType === undefined) return input;
  const isText = !isJsonType(mediaType) && (schema.types === undefined || isCompound(schema));
  if (!isJsonType(mediaType)) return isText ? { ...input, facts: { ...anyText, description: described.description } } : input;
  if (location === 'query') return { ...input, style: 'json' };
  addNote(path, `${name} is JSON written into the ${location}; it became a string`);
  const description = [described.description, 'Written as JSON text.'].filter(Boolean).join(' ');
  return { ...input, facts: { ...anyText, description } };
}

const anyText: Facts = { ...anything, types: new Set(['string']) };

/** Leaves out one of two inputs with the same name, preferably an optional one in the body. */
function leaveOutNamesakes(inputs: Input[], addNote: AddNote): Input[] {
  const kept = new Map<string, Input>();
  for (const input of inputs) {
    const name = input.name.normalize('NFC');
    const other = kept.get(name);
    const isStronger = input.isRequired || (input.in === 'query' && other?.in === 'body' && !other.isRequired);
    const loser = other && (isStronger ? other : input);
    if (loser) leaveOut(loser, 'another parameter has the same name', addNote);
    if (loser === input) continue;
    kept.delete(name);
    kept.set(name, input);
  }
  return [...kept.values()];
}

/** Path parameters are renamed on conflict, since their names matter only inside the template. */
function readPath(operation: Operation, parameters: Node[], taken: Set<string>, reading: Reading): { path: string; inputs: Input[] } {
  const { addNote } = reading;
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const inputs = new Map<string, Input>();
  // calls have no fragment, by which some documents tell operations on one path apart
  const path = operation.path.replace(/#.*$/s, '').replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name?: string) => {
    if (name === undefined) return encodeLiteral(literal);
    const input = inputs.get(name) ?? readPlaceholder(name, known.get(name), operation, reading);
    if (!inputs.has(name)) {
      const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_') || 'place';
      const renamed = rename(plain, new Set([...taken, ...[...inputs.values()].map((other) => other.name)]), 'path_');
      if (renamed !== name) addNote(input.path, `the path parameter ${name} is called ${renamed} in the intent`);
      inputs.set(name, { ...input, name: renamed });
    }
    return `{${inputs.get(name)?.name}}`;
  });
  for (const parameter of parameters) {
    if (inputs.has(String(parameter.name))) continue;
    if (parameter.required !== false)
      throw new Unfit(pathOf(parameter), `needs the path parameter ${parameter.name}, which has no place in its path`);
    addNote(pathOf(parameter), `the path parameter ${parameter.name} was left out: the path has no such variable`);
  }
  return { path, inputs: [...inputs.values()] };
}

function readPlaceholder(name: string, parameter: Node | undefined, operation: Operation, reading: Reading): Input {
  const path = pathOf(operation.node);
  if (parameter === undefined) {
    reading.addNote(path, `the path variable ${name} is not described; it became a required string`);
    return { name, in: 'path', isRequired: true, facts: anyText, path };
  }
  const input = readParameter(parameter, 'path', reading);
  const style = text(parameter.style) ?? 'simple';
  if (style !== 'simple' || (parameter.explode === true && input.facts.types?.has('object')))
    throw new Unfit(input.path, `has the path parameter ${name} in an unsupported style`);
  return { ...input, isRequired: true };
}

function rename(name: string, taken: Set<string>, prefix: string): string {
  for (let candidate = name; ; candidate = prefix + candidate) if (!taken.has(candidate) && candidate !== '__proto__') return candidate;
}

function limit(inputs: Input[], operation: Operation, addNote: AddNote): Input[] {
  const path = pathOf(operation.node);
  if (inputs.filter(({ isRequired }) => isRequired).length > maxParameters)
    throw new Unfit(path, `needs more than ${maxParameters} parameters`);
  return keepMost(inputs, ({ isRequired }) => isRequired, 'optional parameters were left out: an intent has at most', path, addNote);
}
