/** What an operation does, or a question wants done. */
export type Deed = 'create' | 'read' | 'update' | 'delete';

/** The verbs that tell, by what they do. */
const verbs: Record<Deed, string> = {
  create: 'create add post insert new make register open book order buy schedule send upload',
  read: 'list get show retrieve fetch read view display find search lookup query check count describe download browse',
  update: 'update put patch edit modify change replace set rename move',
  delete: 'delete remove destroy cancel drop clear revoke',
};

/**
 * What is left of a word without the usual English endings: `pets` and `pet`, `scheduled` and `schedule` are the same. It need not be
 * right, as it is only compared with others of its kind.
 */
export function stem(word: string): string {
  let rest = word;
  if (rest.length > 4 && rest.endsWith('ies')) return `${rest.slice(0, -3)}y`;
  if (rest.length > 4 && /(?:ch|sh|ss|x|z)es$/.test(rest)) return rest.slice(0, -2);
  if (rest.length > 3 && rest.endsWith('s') && !/(?:ss|us|is)$/.test(rest)) rest = rest.slice(0, -1);
  if (rest.length > 5 && rest.endsWith('ing')) rest = rest.slice(0, -3);
  else if (rest.length > 4 && rest.endsWith('ed')) rest = rest.slice(0, -2);
  if (rest.length > 3 && rest.endsWith('e')) rest = rest.slice(0, -1);
  if (rest.length > 3 && rest.at(-1) === rest.at(-2) && !/[lsz]$/.test(rest)) rest = rest.slice(0, -1);
  return rest;
}

const deeds = new Map(
  Object.entries(verbs).flatMap(([deed, words]) => words.split(' ').map((word) => [stem(word), deed as Deed] as const)),
);

/** Verbs that names and questions use for one another. */
const exchanged: Partial<Record<Deed, string>> = {
  create: 'create add post insert new make',
  read: 'list get show retrieve fetch read view display',
  update: 'update put patch edit modify change replace set',
  delete: 'delete remove destroy',
};

const folded = new Map(
  Object.values(exchanged).flatMap((words) => {
    const [first = '', ...others] = words.split(' ').map(stem);
    return others.map((word) => [word, first] as const);
  }),
);

/** A word in the form that names and questions are compared in: its stem, and one verb for all that say the same. */
export function foldWord(word: string): string {
  const rest = stem(word);
  return folded.get(rest) ?? rest;
}

/** The first word that tells what is done, and what that is. */
export function findDeed(words: readonly string[]): { verb: string; deed: Deed } | undefined {
  for (const word of words) {
    const verb = stem(word);
    const deed = deeds.get(verb);
    if (deed) return { verb, deed };
  }
  return undefined;
}
