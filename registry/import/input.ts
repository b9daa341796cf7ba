import { chosenMediaType } from '../../schemas/media-type.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { anything, type Facts } from './facts.ts';
import { type AddNote, type Node, text, Unfit } from './node.ts';

export interface Input {
  name: string;
  in: 'path' | 'query' | 'header' | 'body' | 'filename' | 'content_type';
  /** the input whose file name or media type this is */
  of?: string;
  isRequired: boolean;
  /** how a list or object is serialised, if not in the default style */
  style?: Parameter['style'];
  /** of a part of a multipart form */
  contentType?: string;
  facts: Facts;
  path: string;
}

/**
 * The media types from which a caller chooses; undefined if there is one.
 * @param usual - the one that is sent if the caller chooses none; undefined if the caller has to
 */
export function readChoice(mediaTypes: readonly string[], usual: string | undefined): Facts | undefined {
  const known = [...new Set(mediaTypes)].filter((one) => chosenMediaType.safeParse(one.replaceAll('*', 'x')).success);
  const isRange = known.some((one) => one.includes('*'));
  if (!isRange && known.length < 2) return undefined;
  const patterns = known.map((one) => one.replaceAll(/[.+]/g, '[$&]').replaceAll('*', '[A-Za-z0-9.+-]+'));
  const allowed = isRange ? { pattern: `^(${patterns.join('|')})$` } : { enum: known };
  const description = `The media type: ${known.join(', ')}.${usual === undefined ? '' : ` Default: ${usual}`}`;
  return { ...anything, types: new Set(['string']), ...allowed, description };
}

/** An input for the file name or media type of another one. Lists of files have lists of these. */
export function describing(input: Input, place: 'filename' | 'content_type', facts: Facts, isRequired = false): Input {
  const { name: of, path } = input;
  const isList = input.facts.types?.has('array') === true;
  const name = of === 'body' && place === 'content_type' ? place : `${of}_${place}`;
  const { description } = facts;
  const list: Facts = { ...anything, types: new Set(['array']), description, items: () => ({ ...facts, description: undefined }) };
  return { name, in: place, of, isRequired, facts: isList ? list : facts, path };
}

/** Drops constraints on the bytes, which do not apply to their base64 form. */
export function asFile(input: Input): Input {
  const { description, types, items } = input.facts;
  const isList = types?.has('array') === true;
  const explained = [description, isList ? 'Each item is the bytes of a file in base64.' : 'The bytes in base64.']
    .filter(Boolean)
    .join(' ');
  const facts: Facts = { ...anything, types: new Set([isList ? 'array' : 'string']), description: explained, ...(isList && { items }) };
  return { ...input, style: 'base64', facts };
}

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
