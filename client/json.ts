/**
 * Parses JSON like `JSON.parse`, except that integers beyond 2^53 - 1 become bigints with all digits.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return value;
  // unguessable, so that no string in the text can be mistaken for a number
  const mark = crypto.randomUUID();
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(marked, (_, member: unknown) =>
    typeof member === 'string' && member.startsWith(mark) ? BigInt(member.slice(mark.length)) : member,
  );
}

const { rawJSON } = JSON as { rawJSON?(text: string): unknown };

/** Parses JSON so that `JSON.stringify` writes every number as it was. Before Node 22, numbers beyond double precision are rounded. */
export const parseForwarded = (text: string): unknown => {
  const keep = (_: string, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined && rawJSON && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, keep as (name: string, value: unknown) => unknown);
};

/**
 * Writes JSON like `JSON.stringify`, but bigints as integers.
 * @throws TypeError for NaN and Infinity, which would become null
 */
export function stringifyJson(value: unknown): string {
  const mark = crypto.randomUUID();
  const pointers = new WeakMap<object, string>();
  const write = function (this: object, name: string, member: unknown): unknown {
    const parent = pointers.get(this);
    const pointer = parent === undefined ? '' : `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (typeof member === 'object' && member !== null) pointers.set(member, pointer);
    if (typeof member === 'number' && !Number.isFinite(member))
      throw new TypeError(`${pointer || 'the value'} is ${member}, which JSON cannot represent`);
    return typeof member === 'bigint' ? `${mark}${member}` : member;
  };
  const text = JSON.stringify(value, write) ?? 'null';
  return text.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}
