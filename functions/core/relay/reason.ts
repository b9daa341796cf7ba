import type { Intent } from '../../../schemas/intent.ts';
import { isObject, type JsonObject, type JsonValue, pointer } from '../json/json.ts';
import type { Content } from './content.ts';
import { type Cut, cutAnswer } from './cut.ts';
import { isEmpty } from './fields.ts';
import { narrowShownBody } from './select-fields.ts';

/** Largest reason in JSON, with the name of its member. */
const maxBytes = 4_096 + '{"upstream_body":}'.length;

/** Longest text, alone or in JSON, in bytes. */
const maxTextBytes = 2_048;

/** Longest pointer that is reported, in characters. */
const maxPointerLength = 200;

/**
 * What a service says about a refusal, for `details`, and where it was cut: JSON of at most 4 KB, or at most 2 KB of text without markup. Limited to the
 * parts that the intent allows to leave the gate.
 * @param isFailure - only JSON is shown, because other content of a failed service is rarely meant for callers
 * @param hide - removes the credential, which markup may have split
 */
export function describeReason(
  content: Content,
  isFailure: boolean,
  { fields }: Pick<Intent, 'fields'>,
  hide: (text: string) => string,
): { upstream_body?: JsonValue; cut?: Cut } {
  if (content.kind === 'none' || content.kind === 'bytes' || (content.kind === 'text' && isFailure)) return {};
  const said = content.kind === 'json' ? content.value : shorten(hideInMarkup(content.text, content.mediaType, hide));
  const { upstream_body: body } = narrowShownBody({ upstream_body: said }, { fields });
  return body === undefined || body === null || body === '' || isEmpty(body) ? {} : limit({ upstream_body: body });
}

/** Shortens long texts first, because they usually hold the reason; then drops members. */
function limit(details: { upstream_body: JsonValue }): { upstream_body?: JsonValue; cut?: Cut } {
  if (Buffer.byteLength(JSON.stringify(details)) <= maxBytes) return details;
  const cuts: Cut[] = [];
  const shortened = shortenTexts(details, [], cuts) as JsonObject;
  const { body, cut = cuts[0] } = cutAnswer(shortened, maxBytes);
  return { ...body, ...(cut && { cut }) };
}

function shortenTexts(value: JsonValue, path: readonly PropertyKey[], cuts: Cut[]): JsonValue {
  if (Array.isArray(value)) return value.map((item, at) => shortenTexts(item, [...path, at], cuts));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortenTexts(member, [...path, name], cuts)]));
  if (typeof value !== 'string') return value;
  const shortened = shorten(value);
  const at = pointer(path);
  if (shortened !== value && at.length <= maxPointerLength) cuts.push({ at, total: [...value].length });
  return shortened;
}

function shorten(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxTextBytes) return text;
  // drops a character that was cut in half
  return `${bytes
    .subarray(0, maxTextBytes - 3)
    .toString()
    .replace(/\ufffd+$/, '')}…`;
}

/** The words of a text without the credential, which tags may have divided without dividing it for a reader. */
function hideInMarkup(text: string, mediaType: string, hide: (text: string) => string): string {
  const joined = readable(text, mediaType, '');
  const hidden = hide(joined);
  return hidden === joined ? hide(readable(text, mediaType, ' ')) : hidden;
}

/** The words of HTML or XML; other text as it is. @param between - what stands for tags and comments */
function readable(text: string, mediaType: string, between: string): string {
  if (!/(?:html|xml)$/.test(mediaType) && !/^\s*<(?:!doctype|html|\?xml)/i.test(text)) return text.trim();
  return text
    .replace(/<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)/g, (_, content: string) => content.replaceAll('<', '&lt;'))
    .replace(/<!--[\s\S]*?(?:-->|$)|<(script|style)\b(?![^<>]*\/>)[\s\S]*?(?:<\/\1\s*>|$)|<[^<>]*(?:>|$)|&nbsp;/gi, between)
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi, readEntity)
    .replace(/\s+/g, ' ')
    .trim();
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function readEntity(entity: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return entities[name.toLowerCase()] ?? (code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : entity);
}
