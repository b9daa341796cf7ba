import { hasBody, isFormType, isJsonType, isMultipartType } from '../../functions/core/relay/endpoint.ts';
import { fileNameOf } from '../../functions/core/relay/file-name.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { bodyMediaType, partMediaType } from '../../schemas/media-type.ts';
import { anything, type Facts } from './facts.ts';
import { asFile, describing, type Input, isCompound, joinedOtherwise, leaveOut, readChoice, readStyle } from './input.ts';
import { type AddNote, follow, isNode, type Node, node, pathOf, resolve, text, Unfit } from './node.ts';
import { type MediaType, type Operation, type Reading, readMediaTypes } from './operation.ts';

export interface BodyInputs {
  contentType: string;
  /** no body, one input per member, or one input for the whole body */
  kind: 'none' | 'members' | 'whole';
  inputs: Input[];
  /** its members may all be left out, and then there is no body */
  isOptional?: boolean;
  /** alternative: the whole body as one input, if its members cannot be inputs */
  asWhole?: () => BodyInputs;
}

const json = 'application/json';
const octets = 'application/octet-stream';
const plainText = 'text/plain';
const multipart = 'multipart/form-data';
const none: BodyInputs = { contentType: json, kind: 'none', inputs: [] };

type Kind = 'json' | 'form' | 'multipart' | 'text' | 'bytes';

interface Candidate extends MediaType {
  kind: Kind;
  facts: Facts;
}

const isPatchList = (mediaType: string): boolean => mediaType === 'application/json-patch+json';
const isAny = (mediaType: string): boolean => ['*/*', 'application/*'].includes(mediaType);
const isText = (mediaType: string): boolean =>
  /^text\/|^application\/([a-z0-9.*-]+\+)?(xml|yaml)$|^application\/(x-yaml|x-ndjson|jsonl|graphql|sql|javascript)$/.test(mediaType);

/** Types that are text if their schema says so; many documents describe files of other types as strings, too. */
const mayBeText = (mediaType: string): boolean =>
  /^application\/(.*\+)?(jwt|sdp|toml|x-pem-file|pem-certificate-chain|sparql-query|sparql-update|n-triples|n-quads|trig|edifact|edi-x12|vnd\.flux)$/.test(
    mediaType,
  );

function kindOf(mediaType: string, facts: Facts): Kind {
  if (isAny(mediaType)) return facts.isBinary ? 'bytes' : isOnly(facts, 'string') ? 'text' : 'json';
  if (isJsonType(withoutRange(mediaType))) return 'json';
  if (isFormType(mediaType)) return 'form';
  if (mediaType === multipart || mediaType === 'multipart/*') return 'multipart';
  return isText(mediaType) || facts.isEncoded || (isOnly(facts, 'string') && mayBeText(mediaType)) ? 'text' : 'bytes';
}

const isOnly = ({ types }: Facts, type: string): boolean =>
  types !== undefined && [...types].every((one) => one === type || one === 'null');

/** Body types by preference. JSON Patch comes late, because other types describe the members that change. */
const sendable: ((candidate: Candidate) => boolean)[] = [
  ({ mediaType }) => mediaType === json,
  ({ mediaType }) => mediaType === 'application/merge-patch+json',
  ({ mediaType, kind }) => kind === 'json' && !isPatchList(mediaType) && !isAny(mediaType),
  ({ mediaType, kind }) => kind === 'json' && !isPatchList(mediaType),
  ({ kind }) => kind === 'form',
  ({ kind }) => kind === 'multipart',
  ({ mediaType }) => isPatchList(mediaType),
  ({ kind }) => kind === 'text',
  ({ mediaType, kind }) => kind === 'bytes' && !mediaType.startsWith('multipart/'),
  () => true,
];

/** @throws Unfit if a call cannot send the body */
export function readBodyInputs({ method, node: operation }: Operation, reading: Reading): BodyInputs {
  if (operation.requestBody === undefined) return none;
  const body = resolve(operation.requestBody);
  const mediaTypes = readMediaTypes(body);
  if (mediaTypes.length === 0) return none;
  const isRequired = body.required === true;
  const read = readBest(mediaTypes, body, isRequired, reading);
  if (method !== 'GET' || isRequired) return read;
  if (read.inputs.length > 0) reading.addNote(pathOf(body), 'the body was left out: calls with GET send a body only if it is required');
  return none;
}

function readBest(mediaTypes: readonly MediaType[], body: Node, isRequired: boolean, reading: Reading): BodyInputs {
  const candidates = mediaTypes.map((given): Candidate => {
    const facts = reading.readSchema(given.schema);
    return { ...given, facts, kind: kindOf(given.mediaType, facts) };
  });
  const best = [...new Set(sendable.map((suits) => candidates.find(suits)).filter((candidate) => candidate !== undefined))];
  const files = best.flatMap((candidate) => (candidate.kind === 'multipart' ? namesOfFiles(candidate, reading) : []));
  const losesFiles = ({ kind, facts }: Candidate) =>
    (kind === 'json' || kind === 'form') &&
    files.some((name) => fileShapeOf(facts.properties.get(name)?.() ?? { ...anything, isBinary: true }));
  const obstacles: Unfit[] = [];
  for (const candidate of best.sort((one, other) => Number(losesFiles(one)) - Number(losesFiles(other)))) {
    try {
      const alike = candidates.filter(({ kind }) => kind === candidate.kind);
      const read = readForm(candidate, alike, isRequired, reading, text(body.description));
      if (
        !read.contentType.startsWith(candidate.contentType) &&
        candidate.contentType.startsWith(`${candidate.mediaType};`) &&
        !isMultipartType(read.contentType)
      )
        reading.addNote(pathOf(candidate.node), `the body is sent as ${read.contentType}, without the parameters of this type`);
      const others = candidates.filter(({ kind }) => kind === 'bytes' && kind !== candidate.kind);
      if (others.length > 0)
        reading.addNote(pathOf(body), `the body cannot be sent as ${others.map(({ mediaType }) => mediaType).join(', ')}`);
      return isRequired || read.kind !== 'members' ? read : { ...read, isOptional: true };
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      obstacles.push(error);
    }
  }
  throw obstacles[0];
}

const namesOfFiles = ({ facts, node: form }: Candidate, reading: Reading): string[] =>
  [...facts.properties].flatMap(([name, read]) => (isBinary(asOnlyFile(read()), encodingOf(form, name), reading) ? [name] : []));

function readForm(
  form: Candidate,
  alike: readonly Candidate[],
  isRequired: boolean,
  reading: Reading,
  description: string | undefined,
): BodyInputs {
  const { kind, facts } = form;
  const path = pathOf(form.schema) || pathOf(form.node);
  if (kind === 'text' || kind === 'bytes') return readContent(form, alike, isRequired, path, facts.description ?? description);
  const isForm = kind !== 'json';
  const contentType = kind === 'multipart' ? multipart : form.mediaType.includes('*') ? json : contentTypeOf(form);
  const whole = (facts: Facts): BodyInputs => ({
    contentType,
    kind: 'whole',
    inputs: [{ name: 'body', in: 'body', isRequired, facts: { ...facts, description: facts.description ?? description }, path }],
  });
  const isDescribed = facts.types !== undefined || facts.properties.size > 0 || facts.required.size > 0;
  const types = [...(facts.types ?? ['object'])].filter((type) => type !== 'null');
  if (isForm && !types.includes('object')) throw new Unfit(path, `takes a form that is not an object (${types.join(' or ')})`);
  const object: Facts = { ...facts, types: new Set(isForm || !facts.types?.has('null') ? ['object'] : ['object', 'null']) };
  if (!isForm) {
    if (!isDescribed) return whole(facts);
    const isOneObject = types.length === 1 && types[0] === 'object';
    if (types.length > 1 || (!isOneObject && facts.properties.size === 0)) return whole(facts);
    // as separate inputs, the required members of an optional body could not be required
    if (!isRequired && facts.types?.has('null') && facts.required.size > 0) return whole(facts);
  }
  const isOpen =
    facts.isOpen === true ||
    (facts.isExtended === true && !contentType.startsWith('application/merge-patch+json')) ||
    [...facts.required].some((name) => !facts.properties.has(name));
  if (!isForm && isOpen) return whole(object);
  if (facts.properties.size === 0)
    return isEmpty(form.schema) && !isOpen ? { ...none, contentType, kind: isRequired ? 'members' : 'none' } : whole(object);
  const members = readMembers(facts, path);
  if (!isForm) return { contentType, kind: 'members', inputs: members, asWhole: () => whole(object) };
  const inputs = members.flatMap((input) => fitFormMember(input, form, reading));
  if (members.length > 0 && inputs.length === 0) throw new Unfit(path, 'takes files only, and a form of this type carries text');
  if (!isOpen) return { contentType, kind: 'members', inputs };
  if (inputs.every(({ style = 'brackets', contentType, of }) => style === 'brackets' && contentType === undefined && of === undefined))
    return whole(object);
  reading.addNote(path, 'additional members of the form were left out, because its described members are serialised each in its own way');
  return { contentType, kind: 'members', inputs };
}

/** A body that is text, or bytes in base64. The caller chooses its type if the document leaves a choice. */
function readContent(
  form: Candidate,
  alike: readonly Candidate[],
  isRequired: boolean,
  path: string,
  description: string | undefined,
): BodyInputs {
  const usable = alike.filter(({ mediaType }) => !mediaType.startsWith('multipart/'));
  if (usable.length === 0) throw new Unfit(path, `takes ${form.mediaType}, which calls cannot send`);
  const mediaTypes = usable.map(({ mediaType }) => mediaType);
  const concrete = usable.find(({ mediaType }) => !mediaType.includes('*'));
  const isBytes = form.kind === 'bytes';
  const isOctets = mediaTypes.some((mediaType) => isAny(mediaType) || mediaType === octets);
  const usual = isBytes ? octets : concrete === undefined ? usualText(mediaTypes[0] ?? '') : contentTypeOf(concrete);
  const choice = readChoice(mediaTypes, isBytes && !isOctets ? undefined : usual);
  const facts: Facts = { ...anything, types: new Set(['string']), description: description ?? `Text of type ${mediaTypes.join(', ')}` };
  const input: Input = { name: 'body', in: 'body', isRequired, facts, path };
  const body = isBytes ? asFile({ ...input, facts: { ...facts, description } }) : input;
  if (choice === undefined) return { contentType: concrete === undefined ? usual : contentTypeOf(concrete), kind: 'whole', inputs: [body] };
  const type = describing(body, 'content_type', choice, isRequired && isBytes && !isOctets);
  return { contentType: usual, kind: 'whole', inputs: [body, type] };
}

const usualText = (range: string): string =>
  range === 'application/*' ? octets : isAny(range) || range === 'text/*' ? plainText : withoutRange(range);

/** `application/*+json` means JSON of any name. */
const withoutRange = (mediaType: string): string => mediaType.replace('/*+', '/');

/** With its parameters, if they can be sent. Text without a charset is ASCII to many readers (RFC 2046 section 4.1.2). */
function contentTypeOf({ contentType, mediaType, hasCharset }: MediaType): string {
  const sent = bodyMediaType.safeParse(contentType).success ? contentType : mediaType;
  return hasCharset && isText(mediaType) ? `${sent}; charset=utf-8` : sent;
}

/** Whether a schema allows no members, as opposed to not describing them. */
function isEmpty(schema: unknown): boolean {
  const found = follow(schema);
  return isNode(found) && (found.additionalProperties === false || found.maxProperties === 0);
}

/** The members of an object as inputs, with required ones that it does not describe. */
function readMembers({ properties, required }: Facts, path: string): Input[] {
  const undescribed = [...required].filter((name) => !properties.has(name)).map((name) => [name, () => anything] as const);
  return [...properties, ...undescribed].flatMap(([name, read]) => {
    const facts = read();
    return facts.isReadOnly ? [] : [{ name, in: 'body' as const, isRequired: required.has(name), facts, path }];
  });
}

const encodingOf = (form: Node, name: string): Node => node(node(form.encoding)[name]);

/**
 * Serialises as `encoding` says. By default, lists repeat their key, and objects in multipart bodies are JSON. In URL-encoded forms, objects are JSON
 * since OpenAPI 3.1 (3.1.1, Encoding Object, `contentType`). Documents in OpenAPI 3.0, whose default is the style `form`, mostly describe services that
 * read members in brackets.
 */
function fitFormMember(given: Input, { node: form, kind }: Candidate, reading: Reading): Input[] {
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
  const typed = isMultipart ? withContentType(input, encoding, path, addNote) : [input];
  if (input.facts.types === undefined && typed.length === 1 && isJsonType(mainType(encoding.contentType)))
    return [{ ...(typed[0] ?? input), style: 'json' }];
  if (!isCompound(input.facts)) return typed;
  // before 3.1, only URL-encoded forms have styles (3.0.4, Encoding Object)
  const isStyled = (text(encoding.style) !== undefined || encoding.explode !== undefined) && !(isMultipart && isBefore31);
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

/** Whether a value may be a file, or a list of files; undefined if neither. */
function fileShapeOf({ isBinary, mayBeBinary, items, lists = [] }: Facts): 'one' | 'list' | undefined {
  const isFiles = [...(items ? [items] : []), ...lists].map((read) => read()).some((item) => item.isBinary || item.mayBeBinary);
  return isFiles ? 'list' : isBinary || mayBeBinary ? 'one' : undefined;
}

/** Reduces a value that may also be a file, or a list of files, to just that, because a part is serialised in one way. */
function asOnlyFile(facts: Facts): Facts {
  const shape = fileShapeOf(facts);
  if (shape === undefined || isFile(facts)) return facts;
  const { description, path, minItems, maxItems } = facts;
  const file: Facts = { ...anything, isBinary: true };
  if (shape === 'one') return { ...file, description, path };
  return { ...anything, types: new Set(['array']), items: () => file, description, path, minItems, maxItems };
}

/** Whether a part has to carry bytes. Since OpenAPI 3.1, an empty schema means bytes, too (3.1.1, Encoding Object, `contentType`). */
function isBinary(facts: Facts, encoding: Node, { isBefore31 }: Reading): boolean {
  const type = mainType(encoding.contentType);
  const value = facts.items && facts.types?.has('array') ? facts.items() : facts;
  const isUntyped = !isBefore31 && type === '' && value.isUntyped === true && isUnconstrained(value);
  const isEncoded = facts.isEncoded || facts.items?.().isEncoded;
  return isFile(facts) || isUntyped || (type !== '' && !isEncoded && kindOf(type, { ...anything, isBinary: true }) === 'bytes');
}

const isUnconstrained = ({ description: _, path: __, default: ___, isUntyped: ____, ...facts }: Facts): boolean =>
  Object.values(facts).every(
    (value) => value === undefined || value === false || (typeof value === 'object' && 'size' in value && value.size === 0),
  );

/** Whether a value may contain objects, whose members could not be told apart with repeated keys. */
const hasObjects = ({ types, items }: Facts): boolean => types?.has('object') === true || isCompound(items?.() ?? anything);

export const carriesByDefault = (method: IntentEndpoint['method'], { kind }: BodyInputs): 'query' | 'body' =>
  kind === 'members' && hasBody(method) ? 'body' : 'query';
