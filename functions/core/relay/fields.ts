import { isNumeric, withoutExponent } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { isObject } from '../json/json.ts';
import { fileNameOf } from './file-name.ts';

export interface NameValuePair {
  name: string;
  value: string;
  /** overrides the encoding of the value, whose separators are encoded differently */
  encoded?: string;
  /** content type of a multipart part; default: text */
  contentType?: string | undefined;
  /** of a multipart file */
  fileName?: string | undefined;
  /** content of a multipart file; replaces the value */
  bytes?: Buffer;
}

/** Default: `repeated`. */
export type Style = NonNullable<Parameter['style']> | 'repeated';

/** Percent-encodes all but RFC 3986's unreserved characters, as in RFC 6570 section 3.2.2. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Writes a value as text: strings unchanged, whole numbers without an exponent, anything else as JSON. */
export const write = (value: unknown): string =>
  typeof value === 'string' ? value : isNumeric(value) ? withoutExponent(value) : JSON.stringify(value);

/** The items of a list, or alternating names and values of an object, as text. */
export const itemsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : isObject(value) ? Object.entries(value).flat() : [value]).map(write);

const separators = { commas: [',', ','], spaces: [' ', '%20'], pipes: ['|', '%7C'] } as const;

/** Whether a value is an empty list or object. */
export const isEmpty = (value: unknown): boolean => (Array.isArray(value) || isObject(value)) && Object.keys(value).length === 0;

/** The fields of a parameter in a query or URL-encoded form. */
export function* fieldsOf(name: string, value: unknown, style: Style = 'repeated'): Generator<NameValuePair> {
  if (style === 'brackets') yield* bracketed(name, value);
  else if (style === 'json') yield { name, value: JSON.stringify(value) };
  else if (isEmpty(value)) return;
  else if (style !== 'repeated' && style !== 'base64') yield joined(name, itemsOf(value), separators[style]);
  else if (Array.isArray(value)) yield* value.map((item) => ({ name, value: write(item) }));
  else if (isObject(value)) yield* Object.entries(value).map(([member, item]) => ({ name: member, value: write(item) }));
  else yield { name, value: write(value) };
}

const joined = (name: string, items: string[], [plain, encoded]: readonly [string, string]): NameValuePair => ({
  name,
  value: items.join(plain),
  encoded: items.map(encode).join(encoded),
});

/** `a[b]=c` and `a[0][b]=c`, at any depth. */
function* bracketed(name: string, value: unknown): Generator<NameValuePair> {
  if (!Array.isArray(value) && !isObject(value)) yield { name, value: write(value) };
  else for (const [member, item] of Object.entries(value)) yield* bracketed(`${name}[${member}]`, item);
}

/** A value in a body. */
export interface Member {
  name: string;
  value: unknown;
  style?: Style | undefined;
  content_type?: string | undefined;
  /** file names that the caller chose, one per item */
  fileNames?: readonly string[];
  /** media types that the caller chose, one per item */
  mediaTypes?: readonly string[];
}

/** The multipart parts of a parameter: one per list item; objects are JSON. */
export function* partsOf({ name, value, style = 'repeated', ...member }: Member): Generator<NameValuePair> {
  const { fileNames = [], mediaTypes = [], content_type } = member;
  if (style !== 'repeated') {
    const usual = style === 'json' ? 'application/json' : undefined;
    for (const field of fieldsOf(name, value, style)) yield { ...field, contentType: content_type ?? usual };
    return;
  }
  for (const [at, item] of (Array.isArray(value) ? value : [value]).entries()) {
    const contentType = mediaTypes[at] ?? content_type;
    if (!Buffer.isBuffer(item)) {
      yield {
        name,
        value: write(item),
        contentType: contentType ?? (isObject(item) || Array.isArray(item) ? 'application/json' : undefined),
      };
      continue;
    }
    const type = contentType ?? 'application/octet-stream';
    const fileName = fileNames[at] ?? fileNameOf(name, type, Array.isArray(value) ? at + 1 : undefined);
    yield { name, value: '', bytes: item, contentType: type, fileName };
  }
}
