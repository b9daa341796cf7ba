import type { Parameter } from '../../../schemas/parameter.ts';
import { isObject, type JsonObject, type JsonValue, parseJson } from '../json/json.ts';
import { essenceOf, isJsonContent, isTextType } from './media-type.ts';
import type { Redactor } from './redact.ts';

export type Content =
  | { kind: 'none' }
  | { kind: 'json'; value: JsonValue }
  /** `isBrokenJson`: declared as JSON, but not readable as JSON */
  | { kind: 'text'; text: string; mediaType: string; isBrokenJson: boolean }
  | { kind: 'bytes'; bytes: Buffer; mediaType: string; isBrokenJson: boolean };

/** Longest text, in bytes; longer texts are passed on as bytes. */
const maxTextBytes = 256 * 1024;

/** Maximum nesting depth of JSON in answers. Requests have a lower limit, because they are validated. */
const maxDepth = 200;

/** Default media types of web frameworks; the content may be JSON. */
const careless = ['text/plain', 'text/html'];

/**
 * Reads the content of an answer. JSON is parsed as strictly as in requests; ambiguous JSON stays a text. It is UTF-8 whatever its charset says
 * (RFC 8259 section 11), unless it is not valid as such. Content without a type is JSON or text if it can be parsed as such.
 * @param field - `Content-Type`, already redacted
 * @param outputs - output parameters of the intent; if they include `content_type`, plain text and HTML are not parsed as JSON
 */
export function readContent(bytes: Buffer, field: string | undefined, outputs: readonly Parameter[]): Content {
  if (bytes.length === 0) return { kind: 'none' };
  const mediaType = essenceOf(field);
  const declared = decodeText(bytes, charsetOf(field));
  const utf8 = charsetOf(field) === 'utf-8' ? declared : decodeText(bytes, 'utf-8');
  const isJson = mediaType === undefined || isJsonContent(mediaType);
  const isCareless = mediaType !== undefined && careless.includes(mediaType) && !outputs.some(({ name }) => name === 'content_type');
  const value = isJson || isCareless ? readJson(new Set([utf8, declared])) : undefined;
  if (value !== undefined && (isJson || (typeof value === 'object' && value !== null))) return { kind: 'json', value };
  const text = isJson && isPrintable(utf8) ? utf8 : declared;
  const isText = mediaType === undefined ? isPrintable(text) : isJson || isTextType(mediaType);
  const isBrokenJson = isJson && mediaType !== undefined;
  if (text === undefined || !isText || bytes.length > maxTextBytes) {
    return { kind: 'bytes', bytes, mediaType: mediaType ?? 'application/octet-stream', isBrokenJson };
  }
  return { kind: 'text', text, mediaType: mediaType ?? 'text/plain', isBrokenJson };
}

/** The declared encoding if it is a known one, else UTF-8. */
function charsetOf(field = ''): string {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(field) ?? [];
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return 'utf-8';
  }
}

function decodeText(bytes: Buffer, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first text that is JSON, parsed. */
function readJson(texts: Iterable<string | undefined>): JsonValue | undefined {
  for (const text of texts) {
    try {
      if (text !== undefined) return parseJson(text, { isExact: true, maxDepth });
    } catch {}
  }
  return undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells bytes from text
const isPrintable = (text: string | undefined): boolean => text !== undefined && !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text);

export function redact(content: Content, { isIdle, hide, hideBytes }: Redactor): Content {
  if (isIdle) return content;
  switch (content.kind) {
    case 'none':
      return content;
    case 'json':
      return { kind: 'json', value: redactValue(content.value, hide) };
    case 'text':
      return { ...content, text: hide(content.text) };
    case 'bytes':
      return { ...content, bytes: hideBytes(content.bytes) };
  }
}

function redactValue(value: JsonValue, hide: (text: string) => string): JsonValue {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((element) => redactValue(element, hide));
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [hide(name), redactValue(member, hide)]));
  if (value === null || typeof value === 'boolean') return value;
  const text = JSON.stringify(value);
  const hidden = hide(text);
  return hidden === text ? value : hidden;
}

export function toBody(content: Content, outputs: readonly Parameter[]): JsonObject {
  switch (content.kind) {
    case 'none':
      return {};
    case 'json': {
      const { value } = content;
      if (isObject(value)) return value;
      const [only, ...others] = outputs;
      return { [only && others.length === 0 ? only.name : Array.isArray(value) ? 'items' : 'value']: value };
    }
    case 'text':
      return { value: content.text, content_type: content.mediaType };
    case 'bytes':
      return { base64: content.bytes.toString('base64'), content_type: content.mediaType };
  }
}
