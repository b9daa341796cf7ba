import { isJsonType } from '../../functions/core/relay/endpoint.ts';
import { fileNameOf } from '../../functions/core/relay/file-name.ts';
import { partMediaType } from '../../schemas/media-type.ts';
import { type Candidate, json, kindOf, octets, plainText } from './content-kind.ts';
import { anything, type Facts } from './facts.ts';
import { asFile, describing, type Input, isCompound, joinedOtherwise, leaveOut, readChoice, readStyle } from './input.ts';
import { type AddNote, type Node, node, text } from './node.ts';
import type { Reading } from './operation.ts';

export const encodingOf = (form: Node, name: string): Node => node(node(form.encoding)[name]);

/**
 * Serialises as `encoding` says. By default, lists repeat their key, and objects in multipart bodies are JSON. In URL-encoded forms, objects are JSON
 * since OpenAPI 3.1 (3.1.1, Encoding Object, `contentType`). Documents in OpenAPI 3.0, whose default is the style `form`, mostly describe services that
 * read members in brackets.
 */
export function fitFormMember(given: Input, { node: form, kind }: Candidate, reading: Reading): Input[] {
  const { addNote, isBefore31 } = reading;
  const path = given.facts.path ?? given.path;
  const isMultipart = kind === 'multipart';
  const encoding = encodingOf(form, given.name);
  const input = isMultipart ? { ...given, facts: asOnlyFile(given.facts) } : given;
  if (input.facts !== given.facts) addNote(path, `the parameter ${input.name} takes files only, not its other alternatives`);
  if (!isMultipart && isFile(input.facts))
    return leaveOut({ ...input, path }, 'it is a file, and a form of this type carries text', addNote);
  if (isMultipart && isBinary(input.facts, encoding, reading)) {
    const [file, ...more] = withContentType(asFile(input), encoding, path, addNote);
    const number = file.facts.types?.has('array') ? 1 : undefined;
    const description = `The name of the file, without a path. Default: ${fileNameOf(input.name, file.contentType ?? octets, number)}`;
    return [file, describing(file, 'filename', { ...anything, types: new Set(['string']), description }), ...more];
  }
  if (encoding.headers !== undefined) addNote(path, `the header fields of the part ${input.name} are not sent`);
  // since 3.1.1 (Encoding Object, `contentType`), text that is encoded already is octets
  const usualType = isBefore31 || !isEncoded(input.facts) ? {} : { contentType: octets };
  const typed = isMultipart ? withContentType(input, { ...usualType, ...encoding }, path, addNote) : [input];
  if (input.facts.types === undefined && typed.length === 1 && isJsonType(mainType(encoding.contentType)))
    return [{ ...(typed[0] ?? input), style: 'json' }];
  if (!isCompound(input.facts)) return typed;
  // in 3.0, only URL-encoded forms have styles (3.0.4, Encoding Object); in Swagger, the encoding is the parameter, which says where it is
  const isIgnored = isMultipart && isBefore31 && encoding.in === undefined;
  const isStyled = (text(encoding.style) !== undefined || encoding.explode !== undefined) && !isIgnored;
  const requested = isStyled ? readStyle(encoding, 'form') : undefined;
  if (requested === 'other') return leaveOut({ ...input, path }, joinedOtherwise, addNote);
  if (requested !== undefined) return requested.style === undefined ? typed : [{ ...input, ...requested }];
  if (isJsonType(mainType(encoding.contentType))) return [{ ...(typed[0] ?? input), style: 'json' }];
  if (isMultipart || !hasObjects(input.facts)) return typed;
  if (isBefore31) return [{ ...input, style: 'brackets' }];
  return [input.facts.types?.has('array') ? input : { ...input, style: 'json' }];
}

/** Leaves out types that parts have or mean anyway. If there are several, the caller chooses; an object is always JSON. */
function withContentType(input: Input, { contentType }: Node, path: string, addNote: AddNote): [Input, ...Input[]] {
  const types = (text(contentType) ?? '').split(',').map(mainType).filter(Boolean);
  const isObject = input.style !== 'base64' && hasObjects(input.facts);
  const choice = isObject ? undefined : readChoice(types, input.style === 'base64' ? octets : plainText);
  if (choice) return [input, describing(input, 'content_type', choice)];
  const type = (isObject && types.find(isJsonType)) || (types[0] ?? '');
  if (['', input.style === 'base64' ? octets : isObject ? json : plainText].includes(type)) return [input];
  if (partMediaType.safeParse(type).success && (isJsonType(type) || !isObject)) return [{ ...input, contentType: type }];
  addNote(path, `the parameter ${input.name} is not sent as ${text(contentType)}, because an object is JSON`);
  return [input];
}

const mainType = (contentType: unknown): string => (text(contentType)?.split(/[;,]/)[0] ?? '').trim().toLowerCase();

const isFile = ({ isBinary, items }: Facts): boolean => isBinary === true || items?.().isBinary === true;

const isEncoded = ({ isEncoded, items }: Facts): boolean => isEncoded === true || items?.().isEncoded === true;

/** Whether a value may be a file, or a list of files; undefined if neither. */
export function fileShapeOf({ isBinary, mayBeBinary, items, lists = [] }: Facts): 'one' | 'list' | undefined {
  const isFiles = [...(items ? [items] : []), ...lists].map((read) => read()).some((item) => item.isBinary || item.mayBeBinary);
  return isFiles ? 'list' : isBinary || mayBeBinary ? 'one' : undefined;
}

/** Reduces a value that may also be a file, or a list of files, to just that, because a part is serialised in one way. */
export function asOnlyFile(facts: Facts): Facts {
  const shape = fileShapeOf(facts);
  if (shape === undefined || isFile(facts)) return facts;
  const { description, path, minItems, maxItems } = facts;
  const file: Facts = { ...anything, isBinary: true };
  if (shape === 'one') return { ...file, description, path };
  return { ...anything, types: new Set(['array']), items: () => file, description, path, minItems, maxItems };
}

/** Whether a part has to carry bytes. Since OpenAPI 3.1, an empty schema means bytes, too (3.1.1, Encoding Object, `contentType`). */
export function isBinary(facts: Facts, encoding: Node, { isBefore31 }: Reading): boolean {
  const type = mainType(encoding.contentType);
  const value = facts.items && facts.types?.has('array') ? facts.items() : facts;
  const isUntyped = !isBefore31 && type === '' && value.isUntyped === true && isUnconstrained(value);
  return isFile(facts) || isUntyped || (type !== '' && !isEncoded(facts) && kindOf(type, { ...anything, isBinary: true }) === 'bytes');
}

/** What a schema may say without restricting its values. */
const notes: (keyof Facts)[] = ['description', 'path', 'default', 'isUntyped'];

const isUnconstrained = (facts: Facts): boolean =>
  Object.entries(facts).every(
    ([name, value]) =>
      notes.some((note) => note === name) ||
      value === undefined ||
      value === false ||
      (typeof value === 'object' && 'size' in value && value.size === 0),
  );

/** Whether a value may contain objects, whose members could not be told apart with repeated keys. */
const hasObjects = ({ types, items }: Facts): boolean => types?.has('object') === true || isCompound(items?.() ?? anything);
