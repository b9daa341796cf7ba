import { hasBody, isFormType, isJsonType, isMultipartType } from '../../functions/core/relay/endpoint.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { bodyMediaType } from '../../schemas/media-type.ts';
import { type Parameter, parameter } from '../../schemas/parameter.ts';
import { anything, type Facts } from './facts.ts';
import { type AddNote, follow, isNode, type Node, node, pathOf, resolve, text, Unfit } from './node.ts';
import { type Form, type Operation, type Reading, readForms } from './operation.ts';

export interface Input {
  name: string;
  in: 'path' | 'query' | 'header' | 'body';
  isRequired: boolean;
  /** how a list or object is serialised, if not in the default style */
  style?: Parameter['style'];
  /** of a part of a multipart form */
  contentType?: string;
  facts: Facts;
  path: string;
}

export interface BodyInputs {
  contentType: string;
  /** no body, one input per member, or one input for the whole body */
  kind: 'none' | 'members' | 'whole';
  inputs: Input[];
  /** alternative: the whole body as one input, if its members cannot be inputs */
  asWhole?: () => BodyInputs;
}

const json = 'application/json';
const octets = 'application/octet-stream';
const none: BodyInputs = { contentType: json, kind: 'none', inputs: [] };

const isPatchList = (mediaType: string): boolean => mediaType === 'application/json-patch+json';
const isText = (mediaType: string): boolean =>
  /^text\/|^application\/([a-z0-9.-]+\+)?(xml|yaml)$|^application\/(x-yaml|x-ndjson|jsonl|graphql|sql|javascript)$/.test(mediaType);
const isBytes = (mediaType: string): boolean => !isJsonType(mediaType) && !isText(mediaType) && !isForm(mediaType);
const isForm = (mediaType: string): boolean => isFormType(mediaType) || isMultipartType(mediaType);

/** Content types by preference. JSON Patch comes late, because other types describe the members that change. */
const sendable: ((mediaType: string) => boolean)[] = [
  (mediaType) => mediaType === json,
  (mediaType) => mediaType === 'application/merge-patch+json',
  (mediaType) => isJsonType(mediaType) && !isPatchList(mediaType),
  (mediaType) => ['*/*', 'application/*'].includes(mediaType),
  isFormType,
  isMultipartType,
  isPatchList,
  isText,
  (mediaType) => !mediaType.startsWith('multipart/'),
  () => true,
];

/** @throws Unfit if a call cannot send the body */
export function readBodyInputs({ method, node: operation }: Operation, reading: Reading): BodyInputs {
  if (operation.requestBody === undefined) return none;
  const body = resolve(operation.requestBody);
  const forms = readForms(body);
  if (forms.length === 0) return none;
  const isRequired = body.required === true;
  const read = readBest(forms, body, isRequired, reading);
  if (method !== 'GET' || isRequired) return read;
  if (read.inputs.length > 0) reading.addNote(pathOf(body), 'the body was left out: calls with GET send a body only if it is required');
  return none;
}

function readBest(forms: readonly Form[], body: Node, isRequired: boolean, reading: Reading): BodyInputs {
  const known = sendable.map((suits) => forms.find(({ mediaType }) => suits(mediaType))).filter((form) => form !== undefined);
  const obstacles: Unfit[] = [];
  for (const form of known) {
    try {
      const read = readForm(form, isRequired, reading, text(body.description));
      if (form.contentType.startsWith(`${read.contentType};`) && !isMultipartType(read.contentType))
        reading.addNote(pathOf(form.node), `the body is sent as ${read.contentType}, without the parameters of this type`);
      return read;
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      obstacles.push(error);
    }
  }
  throw obstacles[0];
}

function readForm(form: Form, isRequired: boolean, reading: Reading, description: string | undefined): BodyInputs {
  const facts = reading.readSchema(form.schema);
  const isAny = form.mediaType.includes('*');
  const isFile = isAny ? facts.isBinary === true || !['*/*', 'application/*'].includes(form.mediaType) : isBytes(form.mediaType);
  const contentType = isAny ? (isFile ? octets : json) : contentTypeOf(form);
  const path = pathOf(form.schema) || pathOf(form.node);
  if (contentType.startsWith('multipart/') && !isForm(contentType)) throw new Unfit(path, `takes ${contentType}, which calls cannot send`);
  const whole = (facts: Facts): BodyInputs => ({
    contentType,
    kind: 'whole',
    inputs: [{ name: 'body', in: 'body', isRequired, facts: { ...facts, description: facts.description ?? description }, path }],
  });
  if (isFile) {
    const { kind, inputs } = whole({ ...anything, types: new Set(['string']), description: facts.description ?? description });
    return { contentType, kind, inputs: inputs.map(asFile) };
  }
  if (!isForm(contentType) && !isJsonType(contentType)) {
    return whole({ ...anything, types: new Set(['string']), description: description ?? `Text of type ${contentType}` });
  }
  const types = [...(facts.types ?? ['object'])].filter((type) => type !== 'null');
  const isOneObject = types.length === 1 && types[0] === 'object';
  if (isForm(contentType) && !types.includes('object')) throw new Unfit(path, `takes a form that is not an object (${types.join(' or ')})`);
  if (!isForm(contentType) && !isOneObject && facts.properties.size === 0) return whole(facts);
  if (!isForm(contentType) && types.length > 1) return whole(facts);
  // as separate inputs, the required members of an optional body could not be required
  if (!isForm(contentType) && !isRequired && facts.types?.has('null') && facts.required.size > 0) return whole(facts);
  const object: Facts = { ...facts, types: new Set(['object']) };
  if (facts.properties.size === 0)
    return isEmpty(form.schema) ? { ...none, contentType, kind: isRequired ? 'members' : 'none' } : whole(object);
  if (facts.values?.().types !== undefined) reading.addNote(path, 'additional members of the body (additionalProperties) were left out');
  const members = readMembers(facts, path);
  const inputs = isForm(contentType) ? members.flatMap((input) => fitFormMember(input, form, contentType, reading.addNote)) : members;
  if (members.length > 0 && inputs.length === 0) throw new Unfit(path, 'takes files only, and a form of this type carries text');
  return { contentType, kind: 'members', inputs, ...(!isForm(contentType) && { asWhole: () => whole(object) }) };
}

/** With its parameters, if they can be sent. */
const contentTypeOf = (form: Form): string => (bodyMediaType.safeParse(form.contentType).success ? form.contentType : form.mediaType);

/** Whether a schema allows no members, as opposed to not describing them. */
function isEmpty(schema: unknown): boolean {
  const found = follow(schema);
  return isNode(found) && (isNode(found.properties) || found.additionalProperties === false || found.maxProperties === 0);
}

const readMembers = (facts: Facts, path: string): Input[] =>
  [...facts.properties].flatMap(([name, read]) => {
    const member = read();
    if (member.isReadOnly) return [];
    return [{ name, in: 'body' as const, isRequired: facts.required.has(name), facts: member, path }];
  });

/** Serialises as `encoding` says. By default, forms repeat keys of lists and bracket members of objects; multipart bodies use JSON. */
function fitFormMember(input: Input, form: Form, contentType: IntentEndpoint['content_type'], addNote: AddNote): Input[] {
  const path = input.facts.path ?? input.path;
  const isMultipart = isMultipartType(contentType);
  const encoding = node(node(form.node.encoding)[input.name]);
  const typed = isMultipart ? withContentType(input, encoding, path, addNote) : input;
  if (isBinary(input.facts, encoding)) {
    return isMultipart ? [asFile(typed)] : leaveOut({ ...input, path }, 'it is a file, and a form of this type carries text', addNote);
  }
  if (!isCompound(input.facts)) return [typed];
  const requested = text(encoding.style) !== undefined || encoding.explode !== undefined ? readStyle(encoding, 'form') : undefined;
  if (requested === 'other') return leaveOut({ ...input, path }, joinedOtherwise, addNote);
  if (requested !== undefined) return [{ ...typed, ...requested }];
  if (isJsonType(mainType(encoding.contentType))) return [{ ...typed, style: 'json' }];
  return [isMultipart || !hasObjects(input.facts) ? typed : { ...input, style: 'brackets' }];
}

/** Leaves out types that parts have or mean anyway, and notes those that cannot be chosen from. */
function withContentType(input: Input, { contentType }: Node, path: string, addNote: AddNote): Input {
  const type = mainType(contentType);
  const implied = isBinary(input.facts, { contentType }) ? ['', octets] : ['', 'text/plain', octets, json];
  if (implied.includes(type)) return input;
  const isOne = parameter.shape.content_type.safeParse(type).success && !text(contentType)?.includes(',');
  if (isOne && (isJsonType(type) || !hasObjects(input.facts))) return { ...input, contentType: type };
  addNote(path, `the parameter ${input.name} is not sent as ${text(contentType)}, because its part has one type, and an object is JSON`);
  return input;
}

/** Drops constraints on the bytes, which do not apply to their base64 form. */
function asFile(input: Input): Input {
  const { description, types, items } = input.facts;
  const isList = types?.has('array') === true;
  const explained = [description, isList ? 'Each item is the bytes of a file in base64.' : 'The bytes in base64.']
    .filter(Boolean)
    .join(' ');
  const facts: Facts = { ...anything, types: new Set([isList ? 'array' : 'string']), description: explained, ...(isList && { items }) };
  return { ...input, style: 'base64', facts };
}

const mainType = (contentType: unknown): string => (text(contentType)?.split(/[;,]/)[0] ?? '').trim().toLowerCase();

/** Whether a form field has to carry bytes. */
function isBinary(facts: Facts, encoding: Node): boolean {
  const type = mainType(encoding.contentType);
  return facts.isBinary === true || facts.items?.().isBinary === true || (type !== '' && isBytes(type));
}

/** Whether a value may contain objects, whose members could not be told apart with repeated keys. */
const hasObjects = ({ types, items }: Facts): boolean => types?.has('object') === true || isCompound(items?.() ?? anything);

export const joinedOtherwise = 'its values are serialised in an unsupported way';

/** Whether a value may be a list or object. Values of any type count as neither, which they usually are. */
export const isCompound = ({ types }: Facts): boolean => types !== undefined && (types.has('array') || types.has('object'));

/** Converts OpenAPI's `style` and `explode` to the style of a parameter; empty for the default. */
export function readStyle({ style, explode }: Node, usual: 'form' | 'simple'): { style?: NonNullable<Parameter['style']> } | 'other' {
  const chosen = text(style) ?? usual;
  if (chosen === 'form') return explode === false ? { style: 'commas' } : {};
  if (chosen === 'simple') return usual === 'simple' ? {} : 'other';
  if (chosen === 'deepObject') return { style: 'brackets' };
  const separated = { spaceDelimited: 'spaces', pipeDelimited: 'pipes' } as const;
  if (chosen !== 'spaceDelimited' && chosen !== 'pipeDelimited') return 'other';
  return explode === true ? {} : { style: separated[chosen] };
}

/** Leaves out an optional input. @throws Unfit if it is required */
export function leaveOut({ name, isRequired, path }: Pick<Input, 'name' | 'isRequired' | 'path'>, reason: string, addNote: AddNote): [] {
  if (isRequired) throw new Unfit(path, `needs the parameter ${name}, but ${reason}`);
  addNote(path, `the parameter ${name} was left out: ${reason}`);
  return [];
}

export const carriesByDefault = (method: IntentEndpoint['method'], { kind }: BodyInputs): 'query' | 'body' =>
  kind === 'members' && hasBody(method) ? 'body' : 'query';
