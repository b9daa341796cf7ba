import { hasBody, isFormType, isJsonType, isMultipartType } from '../../../functions/core/relay/endpoint.ts';
import type { IntentEndpoint } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { anything, type Facts } from './facts.ts';
import { follow, isNode, type Node, node, pathOf, resolve, type TakeNote, text, Unfit } from './node.ts';
import { type Form, type Operation, type Reading, readForms } from './operation.ts';

/** A value that becomes an input parameter, before its name and place are settled. */
export interface Input {
  name: string;
  in: 'path' | 'query' | 'header' | 'body';
  isRequired: boolean;
  /** how a list or object is written, if not in the usual way */
  style?: Parameter['style'];
  facts: Facts;
  path: string;
}

/** What an operation takes as its body. */
export interface BodyInputs {
  contentType: string;
  /** whether there is a body, made of the members or of one input as a whole */
  kind: 'none' | 'members' | 'whole';
  inputs: Input[];
  /** the same body as one input, if its members cannot be inputs */
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

/** What an intent's call can send, by preference. A list of changes comes late, because what else there is says what is changed to what. */
const sendable: ((mediaType: string) => boolean)[] = [
  (mediaType) => mediaType === json,
  (mediaType) => mediaType === 'application/merge-patch+json',
  (mediaType) => isJsonType(mediaType) && !isPatchList(mediaType),
  (mediaType) => ['*/*', 'application/*'].includes(mediaType),
  isFormType,
  isMultipartType,
  isPatchList,
  isText,
  () => true,
];

/** The body of an operation as inputs. @throws Unfit if a call cannot send it */
export function readBodyInputs({ method, node: operation }: Operation, reading: Reading): BodyInputs {
  if (operation.requestBody === undefined) return none;
  const body = resolve(operation.requestBody);
  const forms = readForms(body);
  if (forms.length === 0) return none;
  const isRequired = body.required === true;
  const read = readBest(forms, body, isRequired, reading);
  if (method !== 'GET' || isRequired) return read;
  if (read.inputs.length > 0) reading.take(pathOf(body), 'the body was left out: a call with GET sends none unless it has to');
  return none;
}

/** The first form by preference that a call can send. */
function readBest(forms: readonly Form[], body: Node, isRequired: boolean, reading: Reading): BodyInputs {
  const known = sendable.map((suits) => forms.find(({ mediaType }) => suits(mediaType))).filter((form) => form !== undefined);
  const obstacles: Unfit[] = [];
  for (const form of known) {
    try {
      return readForm(form, isRequired, reading, text(body.description));
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
  const contentType = isAny ? (isFile ? octets : json) : form.mediaType;
  const path = pathOf(form.schema) || pathOf(form.node);
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
    return whole({ ...anything, types: new Set(['string']), description: description ?? `Text of the type ${contentType}` });
  }
  const types = [...(facts.types ?? ['object'])].filter((type) => type !== 'null');
  const isOneObject = types.length === 1 && types[0] === 'object';
  if (isForm(contentType) && !types.includes('object')) throw new Unfit(path, `takes a form that is no object (${types.join(' or ')})`);
  if (!isForm(contentType) && !isOneObject && facts.properties.size === 0) return whole(facts);
  if (!isForm(contentType) && types.length > 1) return whole(facts);
  // what its members require, a body that may be absent does not
  if (!isForm(contentType) && !isRequired && facts.types?.has('null') && facts.required.size > 0) return whole(facts);
  const object: Facts = { ...facts, types: new Set(['object']) };
  if (facts.properties.size === 0)
    return isEmpty(form.schema) ? { ...none, contentType, kind: isRequired ? 'members' : 'none' } : whole(object);
  const members = readMembers(facts, path);
  const inputs = isForm(contentType) ? members.flatMap((input) => fitFormMember(input, form, contentType, reading.take)) : members;
  if (members.length > 0 && inputs.length === 0) throw new Unfit(path, 'takes files only, and a form of this type carries text');
  return { contentType, kind: 'members', inputs, ...(!isForm(contentType) && { asWhole: () => whole(object) }) };
}

/** Whether a schema says that there are no members, rather than not saying which. */
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

/** How a member of a form is written: as `encoding` says, else lists repeated and objects in brackets, or in parts as JSON. */
function fitFormMember(input: Input, form: Form, contentType: IntentEndpoint['content_type'], take: TakeNote): Input[] {
  const path = input.facts.path ?? input.path;
  const isMultipart = isMultipartType(contentType);
  const encoding = node(node(form.node.encoding)[input.name]);
  if (isBinary(input.facts, encoding)) {
    return isMultipart ? [asFile(input)] : leaveOut({ ...input, path }, 'it is a file, and a form of this type carries text', take);
  }
  if (!isCompound(input.facts)) return [input];
  const asked = text(encoding.style) !== undefined || encoding.explode !== undefined ? readStyle(encoding, 'form') : undefined;
  if (asked === 'other') return leaveOut({ ...input, path }, joinedOtherwise, take);
  if (asked !== undefined) return [{ ...input, ...asked }];
  if (isJsonType(mainType(encoding.contentType))) return [{ ...input, style: 'json' }];
  return [isMultipart || !hasObjects(input.facts) ? input : { ...input, style: 'brackets' }];
}

/** An input whose text stands for bytes. Constraints on the bytes do not hold for the text. */
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

/** Whether a form would have to carry bytes: a text in the format `binary`, or a part of a type that is no text. */
function isBinary(facts: Facts, encoding: Node): boolean {
  const type = mainType(encoding.contentType);
  return facts.isBinary === true || facts.items?.().isBinary === true || (type !== '' && isBytes(type));
}

/** Whether a value may hold objects, so that repeating its items would not say which value is part of which. */
const hasObjects = ({ types, items }: Facts): boolean => types?.has('object') === true || isCompound(items?.() ?? anything);

export const joinedOtherwise = 'its values are joined in a way that a call does not use';

/** Whether a value may be a list or object. A value that may be anything usually is neither. */
export const isCompound = ({ types }: Facts): boolean => types !== undefined && (types.has('array') || types.has('object'));

/** How OpenAPI writes lists and objects (`style` and `explode`), in the words of a parameter: an empty object if in the usual way. */
export function readStyle({ style, explode }: Node, usual: 'form' | 'simple'): { style?: NonNullable<Parameter['style']> } | 'other' {
  const said = text(style) ?? usual;
  if (said === 'form') return explode === false ? { style: 'commas' } : {};
  if (said === 'simple') return usual === 'simple' ? {} : 'other';
  if (said === 'deepObject') return { style: 'brackets' };
  const separated = { spaceDelimited: 'spaces', pipeDelimited: 'pipes' } as const;
  if (said !== 'spaceDelimited' && said !== 'pipeDelimited') return 'other';
  return explode === true ? {} : { style: separated[said] };
}

/**
 * Leaves out what a caller can do without.
 * @throws Unfit if the operation needs it
 */
export function leaveOut({ name, isRequired, path }: Pick<Input, 'name' | 'isRequired' | 'path'>, reason: string, take: TakeNote): [] {
  if (isRequired) throw new Unfit(path, `needs the parameter ${name}, but ${reason}`);
  take(path, `the parameter ${name} was left out: ${reason}`);
  return [];
}

/** Whether a call carries a parameter of this kind in its body if nobody says otherwise. */
export const carriesByDefault = (method: IntentEndpoint['method'], { kind }: BodyInputs): 'query' | 'body' =>
  kind === 'members' && hasBody(method) ? 'body' : 'query';
