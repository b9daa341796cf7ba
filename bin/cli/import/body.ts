import { hasBody, isFormType, isJsonType } from '../../../functions/core/relay/endpoint.ts';
import type { Facts } from './facts.ts';
import { node, pathOf, resolve, type TakeNote, text, Unfit } from './node.ts';
import { type Form, type Operation, type Reading, readForms } from './operation.ts';

/** How a list or object is written as text: repeated (`form`, exploded), with commas, or in a way that intents do not support. */
export type Spelling = 'repeated' | 'commas' | 'other';

/** A value that becomes an input parameter, before its name and place are settled. */
export interface Input {
  name: string;
  in: 'path' | 'query' | 'body';
  isRequired: boolean;
  spelling: Spelling;
  facts: Facts;
  path: string;
}

export interface BodyInputs {
  contentType: string;
  inputs: Input[];
}

const json = 'application/json';

/** What an intent's call can send, by preference: JSON before another JSON type before a form. */
const sendable: ((mediaType: string) => boolean)[] = [
  (mediaType) => mediaType === json,
  isJsonType,
  (mediaType) => ['*/*', 'application/*'].includes(mediaType),
  isFormType,
];

/**
 * The members of an operation's body. GET and DELETE send none.
 * @throws Unfit if the body cannot be made of named parameters
 */
export function readBodyInputs({ method, node: operation }: Operation, { readSchema, take }: Reading): BodyInputs {
  const none = { contentType: json, inputs: [] };
  if (operation.requestBody === undefined) return none;
  const body = resolve(operation.requestBody);
  const isRequired = body.required === true;
  const forms = readForms(body);
  if (forms.length === 0) return none;
  if (!hasBody(method)) {
    if (isRequired) throw new Unfit(pathOf(body), `needs a body, which a call with ${method} does not send`);
    take(pathOf(body), `the body was left out: a call with ${method} sends none`);
    return none;
  }
  const form = sendable.map((suits) => forms.find(({ mediaType }) => suits(mediaType))).find((suitable) => suitable !== undefined);
  if (form === undefined) {
    const offered = forms.map(({ mediaType }) => mediaType).join(' or ');
    throw new Unfit(pathOf(body), `takes ${offered} only; a call sends JSON or a form`);
  }
  const inputs = readMembers(readSchema(form.schema), pathOf(form.schema) || pathOf(form.node), isRequired, take);
  const contentType = form.mediaType.includes('*') ? json : form.mediaType;
  return { contentType, inputs: isFormType(contentType) ? inputs.flatMap((input) => fitFormMember(input, form, take)) : inputs };
}

function readMembers(facts: Facts, path: string, isRequired: boolean, take: TakeNote): Input[] {
  const types = [...(facts.types ?? [])].filter((type) => type !== 'null');
  const mayBeObject = facts.types === undefined || types.includes('object');
  if (!mayBeObject) throw new Unfit(path, `takes a body that is no object (${types.join(' or ')}); a call sends an object`);
  if (facts.properties.size === 0) {
    if (isRequired) throw new Unfit(path, 'needs a body whose members are not described');
    take(path, 'the body was left out: its members are not described');
  }
  return [...facts.properties].flatMap(([name, read]) => {
    const member = read();
    if (member.isReadOnly) return [];
    return [{ name, in: 'body' as const, isRequired: facts.required.has(name), spelling: 'repeated' as const, facts: member, path }];
  });
}

/** Members of a form that are lists or objects are sent in OpenAPI's default way, repeated; `encoding` may ask for another. */
function fitFormMember(input: Input, form: Form, take: TakeNote): Input[] {
  const encoding = node(node(form.node.encoding)[input.name]);
  const isUsual = (text(encoding.style) ?? 'form') === 'form' && encoding.explode !== false;
  if (isUsual || !isCompound(input.facts)) return [input];
  return leaveOut({ ...input, path: input.facts.path ?? input.path }, joinedOtherwise, take);
}

export const joinedOtherwise = 'its values are joined in a way that a call does not use';

/** Whether a value may be a list or object. A value that may be anything usually is neither. */
export const isCompound = ({ types }: Facts): boolean => types !== undefined && (types.has('array') || types.has('object'));

/**
 * Leaves out what a caller can do without.
 * @throws Unfit if the operation needs it
 */
export function leaveOut({ name, isRequired, path }: Pick<Input, 'name' | 'isRequired' | 'path'>, reason: string, take: TakeNote): [] {
  if (isRequired) throw new Unfit(path, `needs the parameter ${name}, but ${reason}`);
  take(path, `the parameter ${name} was left out: ${reason}`);
  return [];
}
