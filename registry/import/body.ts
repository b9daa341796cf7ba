import { hasBody, isMultipartType } from '../../functions/core/relay/endpoint.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { bodyMediaType } from '../../schemas/media-type.ts';
import { type Candidate, isAny, isText, json, kindOf, multipart, octets, plainText, withoutRange } from './content-kind.ts';
import { anything, type Facts } from './facts.ts';
import { asOnlyFile, encodingOf, fileShapeOf, fitFormMember, isBinary } from './form-members.ts';
import { asFile, describing, type Input, readChoice } from './input.ts';
import { follow, isNode, type Node, pathOf, resolve, text, Unfit } from './node.ts';
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

const none: BodyInputs = { contentType: json, kind: 'none', inputs: [] };

const isPatchList = (mediaType: string): boolean => mediaType === 'application/json-patch+json';

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
  if (members.length > 0 && inputs.length === 0)
    throw new Unfit(
      path,
      kind === 'multipart' ? 'has only members that calls cannot send' : 'takes files only, and a form of this type carries text',
    );
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

export const carriesByDefault = (method: IntentEndpoint['method'], { kind }: BodyInputs): 'query' | 'body' =>
  kind === 'members' && hasBody(method) ? 'body' : 'query';
