import { createHash } from 'node:crypto';
import type { Issue } from '../../../schemas/errors.ts';
import type { IntentEndpoint } from '../../../schemas/intent.ts';
import { isObject, pointer } from '../json.ts';
import { isFormType, isJsonType, isMultipartType } from './endpoint.ts';
import { encode, fieldsOf, type NameValuePair, partsOf, type Style, write } from './fields.ts';

export interface Body {
  contentType: string;
  body: string | Buffer;
}

export interface Member {
  name: string;
  value: unknown;
  style?: Style | undefined;
  content_type?: string | undefined;
}

export const formEncode = (fields: readonly NameValuePair[]): string =>
  fields.map(({ name, value, encoded = encode(value) }) => `${encode(name)}=${encoded}`).join('&');

/** Decodes base64 texts (RFC 4648, either alphabet) to bytes, and adds invalid ones to `issues`. */
export const decodeFiles = (members: readonly Member[], issues: Issue[]): Member[] =>
  members.map((member) => {
    if (member.style !== 'base64') return member;
    const decode = (given: unknown, ...at: number[]): unknown => {
      const bytes = Buffer.from(String(given), 'base64');
      if (bytes.toString('base64url') === String(given).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')) return bytes;
      issues.push({ path: pointer(['parameters', member.name, ...at]), problem: 'must be base64, because it encodes bytes' });
      return given;
    };
    const { style: _, value, ...others } = member;
    return { ...others, value: Array.isArray(value) ? value.map((item, index) => decode(item, index)) : decode(value) };
  });

/**
 * Writes the body of a call.
 * @param collect - collects form fields and enforces their maximum length; there may be many more fields than parameters
 */
export function writeBody(
  { content_type: contentType, body: whole }: IntentEndpoint,
  members: readonly Member[],
  collect: (fields: Iterable<NameValuePair>) => NameValuePair[],
): Body {
  const isForm = isFormType(contentType);
  if (isForm || isMultipartType(contentType)) {
    const fields = fieldsToWrite(members, whole).flatMap(({ name, value, style, content_type }) =>
      collect(isForm ? fieldsOf(name, value, style) : partsOf(name, value, style, content_type)),
    );
    return isForm ? { contentType, body: formEncode(fields) } : writeMultipart(contentType, fields);
  }
  if (typeof whole !== 'string')
    return { contentType, body: JSON.stringify(Object.fromEntries(members.map(({ name, value }) => [name, value]))) };
  const value = members[0]?.value;
  if (Buffer.isBuffer(value)) return { contentType, body: value };
  return { contentType, body: isJsonType(contentType) ? JSON.stringify(value) : write(value) };
}

/** Expands an object that is the whole form into its members. */
function fieldsToWrite(members: readonly Member[], whole: IntentEndpoint['body']): readonly Member[] {
  const value = members[0]?.value;
  if (typeof whole !== 'string' || !isObject(value)) return members;
  return Object.entries(value).map(([name, item]) => ({ name, value: item, style: 'brackets' as const }));
}

/** Escapes a name for use inside quotes, as HTML forms do. */
const quotable = (name: string): string => name.replace(/["\r\n]/g, encodeURIComponent);

/** RFC 7578. The boundary is a digest of the parts, so no part contains it. */
function writeMultipart(mediaType: string, fields: readonly NameValuePair[]): Body {
  const parts = fields.map(({ name, value, contentType, bytes }) => {
    const file = bytes === undefined ? '' : `; filename="${quotable(name)}"`;
    const type = contentType === undefined ? '' : `\r\nContent-Type: ${contentType}`;
    return [Buffer.from(`Content-Disposition: form-data; name="${quotable(name)}"${file}${type}\r\n\r\n`), bytes ?? Buffer.from(value)];
  });
  const boundary = `gate-${createHash('sha256').update(Buffer.concat(parts.flat())).digest('hex')}`;
  const delimited = parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n`), ...part, Buffer.from('\r\n')]);
  return { contentType: `${mediaType}; boundary=${boundary}`, body: Buffer.concat([...delimited, Buffer.from(`--${boundary}--\r\n`)]) };
}
