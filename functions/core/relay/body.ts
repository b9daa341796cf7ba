import { createHash } from 'node:crypto';
import type { Issue } from '../../../schemas/errors.ts';
import type { IntentEndpoint } from '../../../schemas/intent.ts';
import { chosenMediaType } from '../../../schemas/media-type.ts';
import { isNumeric } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { isObject, pointer } from '../json/json.ts';
import { isFormType, isJsonType, isMultipartType } from './endpoint.ts';
import { encode, fieldsOf, type Member, type NameValuePair, partsOf, write } from './fields.ts';
import { findFileNameProblem } from './file-name.ts';

export interface Body {
  contentType: string;
  body: string | Buffer;
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

const findMediaTypeProblem = (given: unknown): string | undefined => chosenMediaType.safeParse(given).error?.issues[0]?.message;

/**
 * Adds the file names and media types that the caller chose to the members that they describe.
 * @param chosen - the inputs in `filename` and `content_type`
 * @param issues - where unsafe ones are added, and those of something that is not given
 */
export function describeMembers(
  members: readonly Member[],
  chosen: readonly (Parameter & { value: unknown })[],
  issues: Issue[],
): Member[] {
  const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : 1);
  const described = new Map(members.map((member) => [member.name, member]));
  for (const { name, of = '', in: place, value } of chosen) {
    const member = described.get(of);
    if (member === undefined || countOf(value) > countOf(member.value)) {
      issues.push({ path: pointer(['parameters', name]), problem: `must be left out, or come with as many values of ${of}` });
      continue;
    }
    const items = [value].flat();
    const findProblem = place === 'filename' ? findFileNameProblem : findMediaTypeProblem;
    for (const [at, item] of items.entries()) {
      const problem = findProblem(item);
      if (problem !== undefined) issues.push({ path: pointer(['parameters', name, ...(Array.isArray(value) ? [at] : [])]), problem });
    }
    described.set(of, { ...member, [place === 'filename' ? 'fileNames' : 'mediaTypes']: items });
  }
  return [...described.values()];
}

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
    const fields = (typeof whole === 'string' ? membersOf(members[0]?.value, isForm) : members).flatMap((member) =>
      collect(isForm ? fieldsOf(member.name, member.value, member.style) : partsOf(member)),
    );
    return isForm ? { contentType, body: formEncode(fields) } : writeMultipart(contentType, fields);
  }
  if (typeof whole !== 'string')
    return { contentType, body: JSON.stringify(Object.fromEntries(members.map(({ name, value }) => [name, value]))) };
  const [{ value, mediaTypes } = { value: undefined }] = members;
  if (isJsonType(contentType)) return { contentType, body: JSON.stringify(value) };
  return { contentType: mediaTypes?.[0] ?? contentType, body: Buffer.isBuffer(value) ? value : write(value) };
}

/** The members of an object that is the whole form, written as the members of a described form are by default. */
const membersOf = (value: unknown, isForm: boolean): Member[] =>
  Object.entries(isObject(value) ? value : {}).map(([name, item]) => {
    const isPlainList = Array.isArray(item) && item.every((one) => typeof one !== 'object' || one === null || isNumeric(one));
    return { name, value: item, style: isForm && !isPlainList ? 'brackets' : undefined };
  });

/** Escapes a name for use inside quotes, as HTML forms do. */
const quotable = (name: string): string => name.replace(/["\r\n]/g, encodeURIComponent);

/** RFC 7578. The boundary is a digest of the parts, so no part contains it. */
function writeMultipart(mediaType: string, fields: readonly NameValuePair[]): Body {
  const parts = fields.map(({ name, value, contentType, bytes, fileName }) => {
    const file = fileName === undefined ? '' : `; filename="${quotable(fileName)}"`;
    const type = contentType === undefined ? '' : `\r\nContent-Type: ${contentType}`;
    return [Buffer.from(`Content-Disposition: form-data; name="${quotable(name)}"${file}${type}\r\n\r\n`), bytes ?? Buffer.from(value)];
  });
  const boundary = `gate-${createHash('sha256').update(Buffer.concat(parts.flat())).digest('hex')}`;
  const delimited = parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n`), ...part, Buffer.from('\r\n')]);
  return { contentType: `${mediaType}; boundary=${boundary}`, body: Buffer.concat([...delimited, Buffer.from(`--${boundary}--\r\n`)]) };
}
