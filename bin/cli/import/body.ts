import { hasBody, isFormType, isJsonType } from '../../../functions/core/relay/endpoint.ts';
import type { Cursor } from './cursor.ts';
import { anything, both, type Facts } from './facts.ts';
import type { TakeNote } from './notes.ts';
import { type Body, type Field, type Operation, type Spelling, Unfit } from './operation.ts';
import type { ReadSchema } from './schema.ts';

/** A value that becomes an input parameter, before its name and place are settled. */
export interface Input {
  name: string;
  in: 'path' | 'query' | 'body';
  isRequired: boolean;
  spelling: Spelling;
  facts: Facts;
  path: string;
}

/** What the reading of one operation needs of the reading of its document. */
export interface Reading {
  readSchema: ReadSchema;
  take: TakeNote;
}

export interface BodyInputs {
  contentType: string;
  inputs: Input[];
}

const json = 'application/json';

/** The media type that an intent's call can send: JSON before another JSON type before a form. */
function chooseForm(body: Body): Body['forms'][number] | undefined {
  const ranked = [
    ({ mediaType }: { mediaType: string }) => mediaType === json,
    ({ mediaType }: { mediaType: string }) => isJsonType(mediaType),
    ({ mediaType }: { mediaType: string }) => ['*/*', 'application/*'].includes(mediaType),
    ({ mediaType }: { mediaType: string }) => isFormType(mediaType),
  ];
  return ranked.map((suits) => body.forms.find(suits)).find((form) => form !== undefined);
}

/**
 * The members of an operation's body. GET and DELETE send none.
 * @throws Unfit where the body cannot be made of named parameters
 */
export function readBodyInputs({ method, body, formFields }: Operation, reading: Reading): BodyInputs {
  const { readSchema, take } = reading;
  const none = { contentType: json, inputs: [] };
  if (body === undefined || body.forms.length === 0) return none;
  if (!hasBody(method)) {
    if (body.isRequired) throw new Unfit(body.place.path, `needs a body, which a call with ${method} does not send`);
    take(body.place.path, `the body was left out: a call with ${method} sends none`);
    return none;
  }
  const form = chooseForm(body);
  if (form === undefined) {
    throw new Unfit(
      body.place.path,
      `takes ${body.forms.map(({ mediaType }) => mediaType).join(' or ')} only; a call sends JSON or a form`,
    );
  }
  const contentType = form.mediaType.includes('*') ? json : form.mediaType;
  if (formFields.length > 0) return { contentType, inputs: readFormFields(formFields, reading) };
  const facts = form.schema === undefined ? anything : readSchema(form.schema);
  const inputs = readMembers(facts, form.schema ?? form.place, body.isRequired, take);
  return { contentType, inputs: isFormType(contentType) ? inputs.flatMap((input) => fitFormMember(input, form.place, take)) : inputs };
}

function readMembers(facts: Facts, schema: Cursor, isRequired: boolean, take: TakeNote): Input[] {
  const types = [...(facts.types ?? [])].filter((type) => type !== 'null');
  const mayBeObject = facts.types === undefined || types.includes('object');
  if (!mayBeObject) throw new Unfit(schema.path, `takes a body that is no object (${types.join(' or ')}); a call sends an object`);
  if (facts.properties.size === 0) {
    if (isRequired) throw new Unfit(schema.path, 'needs a body whose members are not described');
    take(schema.path, 'the body was left out: its members are not described');
  }
  return [...facts.properties].flatMap(([name, read]) => {
    const member = read();
    if (member.isReadOnly) return [];
    return [
      { name, in: 'body' as const, isRequired: facts.required.has(name), spelling: 'repeated' as const, facts: member, path: schema.path },
    ];
  });
}

const readFormFields = (fields: readonly Field[], reading: Reading): Input[] =>
  fields.flatMap((field) => {
    const input = readField(field, 'body', reading);
    return input.spelling === 'repeated' || !isCompound(input.facts)
      ? [input]
      : leaveOut(input, 'its values are joined in a way that a call does not use', reading.take);
  });

/** Members of a form that are lists or objects are sent in OpenAPI's default way, repeated; `encoding` may ask for another. */
function fitFormMember(input: Input, media: Cursor, take: TakeNote): Input[] {
  const encoding = media.child('encoding')?.child(input.name);
  const isUsual = encoding === undefined || ((encoding.text('style') ?? 'form') === 'form' && encoding.flag('explode') !== false);
  return isUsual || !isCompound(input.facts) ? [input] : leaveOut(input, 'its values are joined in a way that a call does not use', take);
}

/** Whether a value may be a list or object. What may be anything most often is not. */
export const isCompound = ({ types }: Facts): boolean => types !== undefined && (types.has('array') || types.has('object'));

/**
 * Leaves out what a caller can do without.
 * @throws Unfit where the operation needs it
 */
export function leaveOut({ name, isRequired, path }: Pick<Input, 'name' | 'isRequired' | 'path'>, reason: string, take: TakeNote): [] {
  if (isRequired) throw new Unfit(path, `needs the parameter ${name}, but ${reason}`);
  take(path, `the parameter ${name} was left out: ${reason}`);
  return [];
}

export function readField(field: Field, place: Input['in'], { readSchema, take }: Reading): Input {
  const schema = field.schema === undefined ? anything : readSchema(field.schema);
  const facts = field.description === undefined ? schema : both({ ...anything, description: field.description }, schema);
  const isText = field.spelling === 'json';
  if (isText) take(field.place.path, `${field.name} is JSON written into the ${place}; it was made a text`);
  return {
    name: field.name,
    in: place,
    isRequired: field.isRequired,
    spelling: isText ? 'repeated' : field.spelling,
    facts: isText ? { ...anything, types: new Set(['string']), description: describeJsonText(facts.description) } : facts,
    path: field.place.path,
  };
}

const describeJsonText = (description: string | undefined) => [description, 'Written as JSON text.'].filter(Boolean).join(' ');
