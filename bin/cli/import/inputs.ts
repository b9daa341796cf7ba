import { hasBody } from '../../../functions/core/relay/endpoint.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { type Input, isCompound, leaveOut, type Reading, readBodyInputs, readField } from './body.ts';
import { anything } from './facts.ts';
import type { TakeNote } from './notes.ts';
import { type Field, type Operation, Unfit } from './operation.ts';
import { makeParameter } from './parameter.ts';

const maxCount = 100;

/** What a place of a URL template may be called. */
const placeName = /^[A-Za-z0-9_.-]+$/;

/** Header fields that every call of an intent carries, or that no API has to be given. */
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
 * @throws Unfit where a call of an intent cannot carry what the operation needs
 */
export function makeRequest(operation: Operation, context: RequestContext): Request {
  const { take } = context;
  for (const field of operation.fields) if (field.in === 'header' || field.in === 'cookie') leaveHeaderOut(field, context);
  const body = readBodyInputs(operation, context);
  const query = operation.fields.filter((field) => field.in === 'query').flatMap((field) => readQuery(field, operation, context));
  const members = settle([...body.inputs, ...query], take);
  const { path, inputs } = readPath(operation, new Set(members.map(({ name }) => name)), context);
  const kept = limit([...inputs, ...members], operation, take);
  const parameters = kept.flatMap((input) => {
    const parameter = makeParameter(input.name, input.isRequired, input.facts, input.path, take);
    return parameter ?? leaveOut(input, 'no parameter may have its name', take);
  });
  const names = new Set(parameters.map(({ name }) => name));
  const placed = kept.filter((input) => input.in === 'query' && isPlaced(input, operation) && names.has(input.name));
  const operator = path.includes('?') ? '&' : '?';
  const expansion = placed.length > 0 ? `{${operator}${placed.map(({ name }) => name).join(',')}}` : '';
  return { inputs: parameters, template: path + expansion, contentType: body.contentType };
}

/** A call sends no header or cookie of a caller's. */
function leaveHeaderOut(field: Field, { credentialHeaders, take }: RequestContext): void {
  const name = field.name.toLowerCase();
  const { path } = field.place;
  if (field.in === 'header' && suppliedHeaders.includes(name)) return;
  if (field.in === 'header' && (credentialHeaders.has(name) || credentialHeader.test(name))) {
    take(path, `the header ${field.name} was left out: it is the service's credential, which the service adds to its calls`);
    return;
  }
  if (field.in === 'header' && name === 'idempotency-key') {
    take(path, 'the header Idempotency-Key was left out: a call carries the one that the agent sends');
    return;
  }
  if (field.isRequired) throw new Unfit(path, `needs the ${field.in} ${field.name}, and a call sends no ${field.in}s of the caller`);
  take(path, `the ${field.in} ${field.name} was left out: a call sends no ${field.in}s of the caller`);
}

/** In the query of GET and DELETE, parameters without a place are written in OpenAPI's default way. All others need a place. */
const isPlaced = ({ spelling, facts }: Input, { method }: Operation): boolean =>
  hasBody(method) || (spelling === 'commas' && isCompound(facts));

function readQuery(field: Field, operation: Operation, reading: Reading): Input[] {
  const { take } = reading;
  const input = readField(field, 'query', reading);
  const isList = isCompound(input.facts);
  if (isList && input.spelling === 'other') return leaveOut(input, 'its values are joined in a way that a call does not use', take);
  if (isList && input.spelling === 'repeated' && hasBody(operation.method)) {
    return leaveOut(input, `a call with ${operation.method} does not repeat a parameter in the query`, take);
  }
  if (isPlaced(input, operation) && !placeName.test(input.name))
    return leaveOut(input, 'no place in a URL template may have its name', take);
  return [input];
}

/** One parameter has one value: of two that share a name, one has to go. */
function settle(inputs: Input[], take: TakeNote): Input[] {
  const kept = new Map<string, Input>();
  for (const input of inputs) {
    const name = input.name.normalize('NFC');
    const other = kept.get(name);
    const reason = 'another parameter has the same name';
    if (other === undefined) kept.set(name, input);
    else if (input.isRequired) {
      leaveOut(other, reason, take);
      kept.delete(name);
      kept.set(name, input);
    } else leaveOut(input, reason, take);
  }
  return [...kept.values()];
}

/** The places of the path, each with its parameter. Their names are nobody's business but the template's, so they give way. */
function readPath(operation: Operation, taken: Set<string>, reading: Reading): { path: string; inputs: Input[] } {
  const { take } = reading;
  const fields = new Map(operation.fields.filter((field) => field.in === 'path').map((field) => [field.name, field]));
  const inputs = new Map<string, Input>();
  const path = operation.path.replace(/\{([^{}]*)\}|[^{}]+/g, (text, name?: string) => {
    if (name === undefined) return encodeLiteral(text);
    const known = inputs.get(name);
    if (known) return `{${known.name}}`;
    const input = readPlace(name, fields.get(name), operation, reading);
    const renamed = rename(name, new Set([...taken, ...[...inputs.values()].map((other) => other.name)]));
    if (renamed !== name) take(input.path, `the path parameter ${name} is called ${renamed} in the intent`);
    inputs.set(name, { ...input, name: renamed });
    return `{${renamed}}`;
  });
  for (const field of fields.values()) {
    if (!inputs.has(field.name)) take(field.place.path, `the path parameter ${field.name} was left out: the path has no such place`);
  }
  return { path, inputs: [...inputs.values()] };
}

function readPlace(name: string, field: Field | undefined, operation: Operation, reading: Reading): Input {
  if (field === undefined) {
    reading.take(operation.place.path, `the path's place ${name} is not described; it was made a required text`);
    const facts = { ...anything, types: new Set(['string']) };
    return { name, in: 'path', isRequired: true, spelling: 'commas', facts, path: operation.place.path };
  }
  if (field.spelling === 'other') throw new Unfit(field.place.path, `has the path parameter ${name} in a style that a call does not use`);
  return { ...readField(field, 'path', reading), isRequired: true };
}

function rename(name: string, taken: Set<string>): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_') || 'place';
  for (let candidate = plain; ; candidate = `path_${candidate}`) if (!taken.has(candidate) && candidate !== '__proto__') return candidate;
}

/** Percent-encodes what may not stand in a URL as it is. */
const encodeLiteral = (text: string): string =>
  text.replace(/%(?![0-9a-f]{2})|[^\w\-.~:/?#[\]@!$&'()*+,;=%]/giu, (character) => encodeURIComponent(character));

function limit(inputs: Input[], operation: Operation, take: TakeNote): Input[] {
  if (inputs.length <= maxCount) return inputs;
  const required = inputs.filter(({ isRequired }) => isRequired);
  if (required.length > maxCount) throw new Unfit(operation.place.path, `needs more than ${maxCount} parameters`);
  const chosen = new Set([...required, ...inputs.filter(({ isRequired }) => !isRequired)].slice(0, maxCount));
  take(operation.place.path, `${inputs.length - maxCount} optional parameters were left out: an intent has at most ${maxCount}`);
  return inputs.filter((input) => chosen.has(input));
}
