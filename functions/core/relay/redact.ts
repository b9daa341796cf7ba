import type { Credential } from '../credentials/credentials.ts';

/** Shortest value that is redacted, in characters: shorter values occur in texts by chance. */
const minHiddenLength = 8;

const replacement = '[credential]';

/** Splits an Authorization field, and decodes it if it is Basic (RFC 7617). Missing parts are empty. */
function splitValue(value: string) {
  const [, scheme = '', token = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value) ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  const decoded = isBasic ? Buffer.from(token, 'base64').toString() : '';
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(decoded) ?? [];
  return { scheme, isBasic, token, decoded, name, password };
}

/**
 * The value of a header field or query parameter, and the parts of it that are secrets themselves: the token after an Authorization scheme,
 * the name and password in Basic, and each value after an equals sign.
 */
export function partsOf(value: string): string[] {
  const { isBasic, token, decoded, name, password } = splitValue(value);
  const parameters = isBasic ? [] : [...value.matchAll(/=\s*"?([^\s",;=]+)"?/g)].map(([, parameter = '']) => parameter);
  return [value, token, decoded, name, password, ...parameters].filter((part) => part !== '');
}

/** Internally, a text has one character per UTF-8 byte, so that percent-encoding and binary content need no special treatment. */
const toBytes = (text: string): string => Buffer.from(text).toString('latin1');
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString();

/**
 * Warnings about values that are too short to be redacted. Measures the token after a known Authorization scheme, for Basic the password (or the name if
 * the password is empty), otherwise the whole value.
 */
export const describeShort = (credential: Credential): string[] =>
  [credential, ...(credential.next ? [credential.next] : [])].flatMap(({ headers, query }, at) => {
    const named = [
      ...Object.entries(headers).map(([name, value]) => [`header ${name}`, value] as const),
      ...Object.entries(query).map(([name, value]) => [`query parameter ${name}`, value] as const),
    ];
    return named
      .filter(([, value]) => [...secretOf(value)].length < minHiddenLength)
      .map(
        ([name]) =>
          `${at === 0 ? 'The' : 'The next'} value of the ${name} has fewer than ${minHiddenLength} characters, so the gate cannot hide it if the service repeats it in an answer.`,
      );
  });

function secretOf(value: string): string {
  const { scheme, token, name, password } = splitValue(value);
  return password || name || (/^(?:bearer|basic|token|api-?key)$/i.test(scheme) ? token : value);
}

/** Base64 in both alphabets and at all three alignments, without the characters that also encode neighbouring bytes. */
const base64Of = (bytes: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const all = Buffer.from('\0'.repeat(before) + bytes, 'latin1');
    const encoded = all.toString('base64').slice(before === 0 ? 0 : before + 1, Math.floor((all.length * 8) / 6));
    return [encoded, encoded.replaceAll('+', '-').replaceAll('/', '_')];
  });

/**
 * Encodings of a character: percent-encoding, escapes of JSON and program code, and HTML entities. Each is decoded separately, because the output of
 * one may combine with its neighbours into another: `%a` before an A. Each also drops the zero bytes of UTF-16 and UTF-32 around ASCII characters,
 * in case they are decoded as another encoding.
 */
const spellings = [
  /%[0-9a-f]{2}|\0+/gi,
  /\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4}|\{0*[0-9a-f]{1,6}\})|\\x[0-9a-f]{2}|\\[0-3][0-7]{2}|\\[\\/"']|\0+/gi,
  /&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);|\0+/gi,
];

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function read(spelt: string): string {
  if (spelt.startsWith('\0')) return '';
  if (/^(?:%|\\x)/i.test(spelt)) return String.fromCharCode(Number.parseInt(spelt.slice(-2), 16));
  if (/^\\[0-3]/.test(spelt)) return String.fromCharCode(Number.parseInt(spelt.slice(1), 8));
  if (/^\\u\{/i.test(spelt)) return readCode(Number.parseInt(spelt.slice(3), 16)) ?? spelt;
  if (/^\\u/i.test(spelt)) return toBytes(JSON.parse(`"${spelt.replaceAll('U', 'u')}"`));
  if (spelt.startsWith('\\')) return spelt.slice(1);
  const [, hex, decimal, name = ''] = /^&(?:#x([0-9a-f]+)|#([0-9]+)|(\w+));$/i.exec(spelt) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return readCode(code) ?? entities[name.toLowerCase()] ?? spelt;
}

const readCode = (code: number): string | undefined => (code <= 0x10ffff ? toBytes(String.fromCodePoint(code)) : undefined);

/** By header fields or query parameters, which copies of a credential share. */
const known = new WeakMap<object, string[]>();

/** A text in UTF-16, little- and big-endian. */
function wideOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf16le');
  return [bytes.toString('latin1'), bytes.swap16().toString('latin1')];
}

const hexOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('hex');

/**
 * The strings to search for. For each long enough part of header fields or query parameters: the part itself, with + for spaces, in UTF-16, and the base64 and
 * hexadecimal of these. All in lower case, like the searched text, because a service or a media-type parser may have changed the case.
 */
function secretsOf(values: Record<string, string>): string[] {
  const before = known.get(values);
  if (before !== undefined) return before;
  const parts = Object.values(values)
    .flatMap(partsOf)
    .filter((part) => [...part].length >= minHiddenLength);
  // if a value looks encoded, a service may echo its decoded form
  const forms = parts.map(toBytes).flatMap((part) => [part, ...spellings.map((spelling) => part.replace(spelling, read))]);
  const long = forms.filter(({ length }) => length >= minHiddenLength);
  const wide = parts.flatMap(wideOf);
  const encoded = [...long, ...wide].flatMap((bytes) => [hexOf(bytes), ...base64Of(bytes)]);
  // the search drops zero bytes, which turns UTF-16 of Latin-1 characters into Latin-1
  const plain = [...long.flatMap((part) => [part, part.replaceAll(' ', '+')]), ...wide.map((bytes) => bytes.replaceAll('\0', ''))];
  const secrets = [...new Set([...plain, ...encoded].map((secret) => secret.toLowerCase()))];
  known.set(values, secrets);
  return secrets;
}

/** A decoded text, with the offset of each character (and of the end) in the original text. */
interface View {
  text: string;
  starts: Uint32Array;
}

/** Decodes one encoding; undefined if it does not occur. */
function readOnce({ text, starts }: View, spelling: RegExp): View | undefined {
  const parts: string[] = [];
  const offsets = new Uint32Array(text.length + 1);
  let [from, length] = [0, 0];
  const copy = (part: string, at: (index: number) => number) => {
    parts.push(part);
    for (let index = 0; index < part.length; index++) offsets[length++] = starts[at(index)] ?? 0;
  };
  for (const { 0: spelt, index: at } of text.matchAll(spelling)) {
    const before = from;
    copy(text.slice(from, at), (index) => before + index);
    copy(read(spelt), () => at);
    from = at + spelt.length;
  }
  if (from === 0) return undefined;
  const before = from;
  copy(text.slice(from), (index) => before + index);
  offsets[length] = starts[text.length] ?? 0;
  return { text: parts.join(''), starts: offsets.subarray(0, length + 1) };
}

/** Maximum number of nested encodings. */
const maxEncodings = 3;

/** A text, and its decodings up to {@link maxEncodings} deep, with encodings in any order. */
function* viewsOf(text: string): Generator<View> {
  const seen = new Set([text]);
  let views: View[] = [{ text, starts: Uint32Array.from({ length: text.length + 1 }, (_, at) => at) }];
  yield* views;
  for (let count = 1; count <= maxEncodings; count++) {
    const next: View[] = [];
    for (const view of views) {
      for (const spelling of spellings) {
        const found = readOnce(view, spelling);
        if (found === undefined || seen.has(found.text)) continue;
        seen.add(found.text);
        yield found;
        if (count < maxEncodings) next.push(found);
      }
    }
    views = next;
  }
}

function findRanges(text: string, secrets: readonly string[]): [start: number, end: number][] {
  const ranges: [number, number][] = [];
  for (const view of viewsOf(text)) {
    const lower = view.text.toLowerCase();
    for (const secret of secrets) {
      for (let at = lower.indexOf(secret); at >= 0; at = lower.indexOf(secret, at + 1))
        ranges.push([view.starts[at] ?? 0, view.starts[at + secret.length] ?? text.length]);
    }
  }
  return ranges.sort(([one], [other]) => one - other);
}

/**
 * Returns functions that redact the values of a credential in an upstream's answer.
 * @param credential - the call's credential; if undefined, nothing is redacted
 */
export function openRedactor(credential: Credential | undefined) {
  const secrets = [credential, credential?.next].flatMap((set) => (set ? [...secretsOf(set.headers), ...secretsOf(set.query)] : []));
  const shortest = Math.min(...secrets.map(({ length }) => length));
  let hasFound = false;

  function hideIn(bytes: string): string {
    if (bytes.length < shortest) return bytes;
    const ranges = findRanges(bytes, secrets);
    if (ranges.length === 0) return bytes;
    hasFound = true;
    let [hidden, end] = ['', 0];
    for (const [from, to] of ranges) {
      if (from >= end) hidden += bytes.slice(end, from) + replacement;
      end = Math.max(end, to);
    }
    return hidden + bytes.slice(end);
  }

  return {
    /** whether there is nothing to redact */
    isIdle: secrets.length === 0,
    hide: (text: string): string => {
      if (text.length * 3 < shortest) return text;
      const bytes = toBytes(text);
      const hidden = hideIn(bytes);
      return hidden === bytes ? text : fromBytes(hidden);
    },
    hideBytes: (content: Buffer): Buffer => {
      const bytes = content.toString('latin1');
      const hidden = hideIn(bytes);
      return hidden === bytes ? content : Buffer.from(hidden, 'latin1');
    },
    get hasFound(): boolean {
      return hasFound;
    },
  };
}

export type Redactor = ReturnType<typeof openRedactor>;
