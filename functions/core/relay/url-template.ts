/** A place of a URL template (RFC 6570): `{name}` is simple expansion, `{?name}` and `{&name}` are query expansion. */
export interface Place {
  operator: '' | '?' | '&';
  names: string[];
}

export interface UrlTemplate {
  /** scheme and authority as written; never contains a place */
  origin: string;
  /** path and query: literal text and places in order */
  parts: (string | Place)[];
}

const start = /^[a-z][a-z0-9+.-]*:\/\/[^/?#{}\\]*/i;
const place = /\{([?&]?)([\w-]+(?:[.,][\w-]+)*)\}/;

/** The origin of a URL template in its canonical spelling; undefined if there is none. */
export const originOf = (url: string): string | undefined => URL.parse(start.exec(url)?.[0] ?? '')?.origin;

/**
 * Parses a URL template.
 * @returns the template, or what would be right, as a sentence that begins with "must"
 */
export function parseUrlTemplate(url: string): UrlTemplate | string {
  const [origin] = start.exec(url) ?? [];
  if (origin === undefined) return 'must be an absolute URL, for example https://api.example.com/orders/{id}';
  // splitting by a pattern with two groups gives: literal, operator, names, literal, ...
  const pieces = url.slice(origin.length).split(place);
  const literals = pieces.filter((_, index) => index % 3 === 0);
  if (literals.some((literal) => /[{}]/.test(literal))) {
    return 'must contain only places of the forms {name}, {?name} and {&name}, several names separated by commas';
  }
  if (literals[0] === '' && pieces[1] === '') return 'must contain places only in its path and query';
  const parts = pieces.flatMap((piece, index): (string | Place)[] => {
    if (index % 3 === 0) return piece === '' ? [] : [piece];
    if (index % 3 === 1) return [{ operator: piece as Place['operator'], names: (pieces[index + 1] ?? '').split(',') }];
    return [];
  });
  return { origin, parts };
}

export const placesOf = ({ parts }: UrlTemplate): Place[] => parts.filter((part) => typeof part !== 'string');

/** The parameters that have a place in the URL. */
export const placedNames = (template: UrlTemplate): Set<string> => new Set(placesOf(template).flatMap(({ names }) => names));
