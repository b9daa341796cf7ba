import { isJsonType } from '../../functions/core/relay/endpoint.ts';
import { essenceOf, isTextType } from '../../functions/core/relay/media-type.ts';
import { answerHeaderName } from '../../schemas/header.ts';
import { maxResponseHeaders } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { type Facts, oneOf } from './facts.ts';
import { isCredential } from './headers.ts';
import type { RequestContext } from './inputs.ts';
import { type AddNote, membersOf, node, pathOf } from './node.ts';
import { type Operation, type Reading, readMediaTypes, readSuccesses } from './operation.ts';
import { keepMost, makeParameter } from './parameter.ts';

const isJson = (mediaType: string): boolean => isJsonType(mediaType) || mediaType === '*/*' || mediaType === 'application/*';

/**
 * The members of the success response; a list or single value becomes `items` or `value`, as the gate returns it. A member is required only if
 * every success response requires it.
 */
export function makeOutputs({ node: operation }: Operation, { readSchema, addNote }: Reading): Parameter[] {
  const statuses = Object.keys(membersOf(operation.responses)).join(' ');
  if (/\b3(0[^4]|xx)\b/i.test(statuses) && !/\b2(\d\d|xx)\b/i.test(statuses))
    addNote(pathOf(operation), 'its success is a redirect, which the gate does not follow: calls end with 502');
  const answers = readSuccesses(operation).map(([status, response]) => (status === '204' ? [] : readMediaTypes(response)));
  const all = answers.flat();
  const usable = all.filter(({ mediaType }) => isJson(mediaType));
  if (usable.length === 0) return describeContent(all.map(({ mediaType }) => mediaType));
  const described = usable.filter(({ schema }) => schema !== undefined);
  const isAlwaysThere = described.length === usable.length && answers.every((answer) => answer.some(({ mediaType }) => isJson(mediaType)));
  const facts = oneOf(described.map(({ schema }) => readSchema(schema)));
  return describe(facts, isAlwaysThere, pathOf(usable[0]?.schema) || pathOf(operation), addNote);
}

/** Names of header fields with tokens of a session. */
const sessionHeader = /(session|refresh|security|csrf|xsrf|bearer)[-_]?token|secret|jwt|session[-_]?id/;

/** The header fields that success responses declare. OpenAPI says that `Content-Type` is ignored; agents do not get credentials. */
export function readResponseHeaders({ node: operation }: Operation, { headers: { credentials }, addNote }: RequestContext): string[] {
  const declared = readSuccesses(operation).flatMap(([, { headers }]) => Object.keys(node(headers)));
  const names = [...new Map(declared.map((name) => [name.toLowerCase(), name]))].filter(([lower]) => lower !== 'content-type');
  const fit = names.filter(
    ([lower]) => answerHeaderName.safeParse(lower).success && !isCredential(lower, credentials) && !sessionHeader.test(lower),
  );
  const kept = fit.slice(0, maxResponseHeaders).map(([, name]) => name);
  const dropped = names.map(([, name]) => name).filter((name) => !kept.includes(name));
  if (dropped.length > 0) addNote(pathOf(operation), `agents do not get these header fields of the answer: ${dropped.join(', ')}`);
  return kept;
}

/** Describes responses that are not JSON. Text too long for `value` is returned as `base64`, so neither is required. */
function describeContent(mediaTypes: readonly string[]): Parameter[] {
  if (mediaTypes.length === 0) return [];
  const known = [...new Set(mediaTypes.flatMap((mediaType) => essenceOf(mediaType) ?? []))];
  const [texts, others] = [known.filter(isTextType), known.filter((mediaType) => !isTextType(mediaType))];
  const parts: Parameter[] = [
    { name: 'value', type: 'string', description: `Text of type ${texts.join(' or ')}` },
    { name: 'base64', type: 'string', description: `Base64-encoded content of type ${others.join(' or ')}` },
    { name: 'content_type', type: 'string', description: 'The media type of the content' },
  ];
  return parts.filter(({ name }) => (name === 'value' ? texts : name === 'base64' ? others : known).length > 0);
}

function describe(facts: Facts, isAlwaysThere: boolean, path: string, addNote: AddNote): Parameter[] {
  const { types, properties } = facts;
  const kinds = [...(types ?? [])].filter((type) => type !== 'null');
  if (kinds.every((kind) => kind === 'object') && (kinds.length > 0 || properties.size > 0)) {
    return describeMembers(facts, isAlwaysThere, path, addNote);
  }
  const isSure = types !== undefined && isAlwaysThere && !types.has('null') && !types.has('object');
  const name = kinds.length === 1 && kinds[0] === 'array' ? 'items' : 'value';
  return compact([makeParameter(name, isSure, { ...facts, default: undefined }, path, addNote)]);
}

const compact = <T>(list: (T | undefined)[]): T[] => list.filter((item) => item !== undefined);

function describeMembers({ properties, required }: Facts, isAlwaysThere: boolean, path: string, addNote: AddNote): Parameter[] {
  const members = [...properties].flatMap(([name, read]) => {
    const facts = read();
    const isRequired = isAlwaysThere && required.has(name) && !facts.types?.has('null');
    return facts.isWriteOnly ? [] : compact([makeParameter(name, isRequired, { ...facts, default: undefined }, path, addNote)]);
  });
  const unique = [...new Map(members.map((member) => [member.name, member])).values()];
  const note = 'members of the answer were left out: an intent describes at most';
  return keepMost(unique, ({ required }) => required === true, note, path, addNote);
}
