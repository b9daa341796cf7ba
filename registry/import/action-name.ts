import pluralize from 'pluralize';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { splitCase } from '../../schemas/intent-uid.ts';

interface Unnamed {
  method: IntentEndpoint['method'];
  path: string;
  operationId?: string | undefined;
  /** whether the path also has PATCH, in which case PUT is named "replace" */
  hasPatch?: boolean;
}

const verbs = new Set(
  `abort accept acknowledge activate add adjust advance allocate allow append apply approve archive ask assign associate attach authenticate
  authorize autocomplete backup ban begin block book brew browse build buy calculate cancel capture change check checkout claim clear
  clone close collect commit compare complete compute confirm connect consume convert copy count create deactivate decline decrypt delete
  deliver demote deny deploy describe destroy detach detect diff disable disassociate disconnect discover dismiss dispatch download drain
  duplicate edit embed enable encrypt end enqueue enrol enroll ensure estimate evaluate exchange execute expire export extend extract fetch
  filter finalize find finish flag flush follow force forget fork forward fulfill generate get give grant handle hide ignore import include
  increment index ingest init initialize initiate insert install invalidate invite invoke issue join kick kill leave like link list load
  lock login logout look lookup make mark match merge migrate modify move mute notify obtain open pause patch pay perform pin ping place
  poll post preview process promote provision publish purge put query queue read reassign rebuild receive recover redeem redeliver refresh
  refund regenerate register reject release reload remind remove rename render renew reopen reorder replace replay reply report request
  resend reset resize resolve respond restart restore restrict resubmit resume resync retire retrieve retry return reverse revert review
  revoke rotate run save scale scan schedule search select send set share shorten show sign signup simulate skip snooze split star start stop
  store stream submit subscribe suggest suspend swap switch sync synchronize tag terminate test toggle track train transfer transform
  transition translate trigger try unarchive unassign unblock undelete undo unfollow unfurl unignore uninstall unlink unlock unmute unpin
  unpublish unregister unstar unsubscribe untag unwatch update upgrade upload upsert use validate verify view void vote watch withdraw
  write`.split(/\s+/),
);

/** Verbs that name an action even in a GET request. */
const readingVerbs =
  /^(search|query|lookup|find|autocomplete|download|export|preview|compare|validate|verify|check|calculate|estimate|test|ping)$/;

const prepositions =
  /^(by|for|of|in|into|from|to|on|onto|with|without|as|at|and|or|via|within|per|using|across|between|before|after|under|over)$/;

/** Verbs that are nouns before a plural noun: report runs, login links, check items. */
const nouns = new Set(
  `block book build change check checkout claim commit copy count download exchange export extract filter fork import index issue label link load lock
  login logout look match merge open order pin ping play post preview purchase query queue refund release reply report request retry review run
  scale scan schedule search share sign signup split star store stream swap tag test track transfer transform upload use view vote watch`.split(
    /\s+/,
  ),
);

const determiners = /^(all|my|me|self|this|the|a|an|any|each|every|many|multiple|several|one|bulk)$/;
const definite = /^(current|latest|last|first|next|previous|default|own|same|entire|active)$/;

pluralize.addSingularRule(/^([cg]pu|sku|menu)s$/i, '$1');
for (const noun of 'access analytics auth authentication billing content data feedback health history info inventory me metadata self storage support telemetry traffic usage weather'.split(
  ' ',
)) {
  pluralize.addUncountableRule(noun);
}

/** The words of an identifier or path segment, in lower case except acronyms. */
function readWords(text: string): string[] {
  const isMixed = /\p{Ll}/u.test(text);
  const words = (isMixed ? splitCase(text) : text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.map((word) => (isMixed && /^\p{Lu}[\p{Lu}\p{N}]+s?$/u.test(word) && !isVersion(word) ? word : word.toLowerCase()));
}

const capitalize = (text: string): string =>
  (text.charAt(0).toUpperCase() + text.slice(1)).replace(/\b(ids?|urls?|apis?|ips?|ssh|dns|sms|pdf|csv|sso)\b/g, (word) =>
    word.toUpperCase().replace(/(?<=..)S$/, (end) => (word.length > 2 && !/^(sms|dns)$/.test(word) ? 's' : end)),
  );
/** Whether a noun is plural; uncountable nouns are not. */
const isPlural = (noun: string): boolean => pluralize.isPlural(noun) && !pluralize.isSingular(noun);
const isVersion = (text: string): boolean => /^v?\d+([._]\d+)*((alpha|beta|rc|p)\d*)?$/i.test(text);
const isVerb = (word: string | undefined): word is string => word !== undefined && verbs.has(word.toLowerCase());

/** Acronyms go by their first letter's name: an SMS, a URL. An initial "yoo" sound takes "a": a user, a unit. */
const needsAn = (word: string): boolean =>
  /^\p{Lu}{2}/u.test(word) ? /^[AEFHILMNORSX]/.test(word) : /^(?:[aeio](?!ne\b|ne-)|u(?!ni|s[aeiu]|r[aeiu]|t[aeiu]|rl|pc|kr))/i.test(word);

/** `order line` becomes `an order line`; `open orders` stays. */
function withArticle(words: readonly string[]): string {
  const [first = ''] = words;
  const end = words.findIndex((word) => prepositions.test(word));
  const noun = words[end < 0 ? words.length - 1 : end - 1];
  const text = words.join(' ');
  if (noun === undefined || determiners.test(first)) return text;
  if (definite.test(first)) return `the ${text}`;
  return pluralize.isPlural(noun) ? text : `${needsAn(first) ? 'an' : 'a'} ${text}`;
}

const inflectHead = (words: readonly string[], inflect: (word: string) => string): string[] => {
  const end = words.findIndex((word) => prepositions.test(word));
  const head = (end < 0 ? words.length : end) - 1;
  return words.map((word, at) => (at === head ? inflect(word) : word));
};
const toPlural = (words: readonly string[]): string[] =>
  inflectHead(words, (word) => {
    if (/[A-Z]$/.test(word)) return `${word}s`;
    return determiners.test(word) ? word : pluralize.plural(word);
  });
const toSingular = (words: readonly string[]): string[] =>
  inflectHead(words, (word) => (/^[A-Z]+s$/.test(word) ? word.slice(0, -1) : pluralize.singular(word)));

/** The literal words of one part of a path; `isItem` if a path parameter follows. */
interface Resource {
  words: string[];
  isItem: boolean;
}

/** The resources of a path, outermost first, without noise such as versions. */
function readResources(path: string): Resource[] {
  const resources: Resource[] = [];
  let words: string[][] = [];
  const close = (isItem: boolean) => {
    // words before a noun qualify it: issuing cards, order lines
    const qualified = words.flatMap((part, at) => (at < words.length - 1 ? toSingular(part) : part));
    if (qualified.length > 0) resources.push({ words: qualified, isItem });
    words = [];
  };
  for (const segment of path.split(/[/.:]/)) {
    const literal = segment.replace(/\{[^{}]*\}/g, ' ').trim();
    const isNoise =
      isVersion(literal) || /^(json|xml)$/i.test(literal) || (resources.length + words.length === 0 && /^(api|apis|rest)$/i.test(literal));
    if (literal !== '' && !isNoise) words.push(readWords(literal));
    if (segment.includes('{')) close(true);
  }
  close(false);
  return resources.filter(({ words: some }) => some.length > 0);
}

const describeResource = ({ words, isItem }: Resource): string => {
  if (isItem) return withArticle(toSingular(words));
  return pluralize.isPlural(words.at(-1) ?? '') ? words.join(' ') : `the ${words.join(' ')}`;
};

/** The two innermost owners. */
const describeOwners = (owners: readonly Resource[], link = 'of'): string =>
  owners
    .slice(-2)
    .reverse()
    .map((owner, at) => ` ${at === 0 ? link : 'of'} ${describeResource(owner)}`)
    .join('');

const links: Record<string, string> = {
  add: 'to',
  assign: 'to',
  attach: 'to',
  invite: 'to',
  remove: 'from',
  detach: 'from',
  unassign: 'from',
};

/** @param verb - from an operationId that adds nothing else */
function nameByPath({ method, path, hasPatch }: Unnamed, verb: string | undefined): string {
  const resources = readResources(path);
  const last = resources.at(-1);
  if (last === undefined) return capitalize(`${verb ?? method.toLowerCase()} the root`);
  if (verb !== undefined && verb === last.words.join(' ')) return capitalize(verb);
  const owners = resources.slice(0, -1);
  const lastPart = readWords(path.split(/[/.:]/).findLast((part) => part !== '') ?? '');
  const [act] = lastPart;
  const isNoun = lastPart.length > 1 && nouns.has(act ?? '') && isPlural(lastPart.at(-1) ?? '');
  const canAct =
    !last.isItem && isVerb(act) && !isNoun && (lastPart.length < last.words.length || owners.length > 0 || lastPart.length > 1);
  // a lone "list" or "get" is a noun: the list of a card
  const isAct = /^(list|get)$/.test(act ?? '') ? last.words.length > 1 : readingVerbs.test(act ?? '') || !nouns.has(act ?? '');
  if (canAct && (method !== 'GET' || lastPart.length > 1 || isAct)) {
    const [, ...rest] = lastPart;
    const around = readResources(path.slice(0, path.search(/[/.:][^/.:]+\/*$/)));
    if (rest.length === 0 || prepositions.test(rest[0] ?? '')) {
      const [target = { words: [], isItem: false }] = around.slice(-1);
      const isCreation = /^(create|add|insert)$/.test(act) && !target.isItem;
      const object = target.words.length > 0 ? ` ${isCreation ? withArticle(toSingular(target.words)) : describeResource(target)}` : '';
      return capitalize([`${act}${object}`, ...rest].join(' ') + describeOwners(around.slice(0, -1)));
    }
    if (act === 'mark') return capitalize(`${act} ${describeResource(around.at(-1) ?? last)} as ${rest.join(' ')}`);
    return capitalize(`${act} ${withArticle(rest)}${describeOwners(around, links[act] ?? 'for')}`);
  }
  const isCollection = !last.isItem && isPlural(last.words.at(-1) ?? '');
  const isRead = verb === undefined || /^(get|list|read|fetch|retrieve|show|index|find)$/.test(verb);
  const usual = {
    GET: isCollection ? 'list' : verb !== undefined && verb !== 'list' && isRead ? verb : 'get',
    POST: last.isItem ? 'update' : 'create',
    PUT: hasPatch ? 'replace' : 'update',
    PATCH: 'update',
    DELETE: 'delete',
  }[method];
  const chosen = verb === undefined || (method === 'GET' && isRead) ? usual : verb;
  const isCreation = /^(create|add|insert|post)$/.test(chosen) && !last.isItem;
  const target = isCreation ? withArticle(toSingular(last.words)) : describeResource(last);
  return capitalize(`${chosen} ${target}${describeOwners(owners, isCreation ? (links[chosen] ?? 'for') : 'of')}`);
}

/** Removes a trailing path and method, as in `read_item_items__item_id__get`. */
function withoutPath(words: readonly string[], { path, method }: Unnamed): readonly string[] {
  const end = [...readWords(path.replace(/[^\p{L}\p{N}]+/gu, ' ')), method.toLowerCase()];
  const isEnd = words.length > end.length && end.every((word, at) => words.at(at - end.length) === word);
  return isEnd ? words.slice(0, -end.length) : words;
}

/** The verb and object in an operationId; undefined if it has no verb. */
function readId(operationId: string, operation: Unnamed): { verb: string; rest: string[] } | undefined {
  const parts = operationId.split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);
  const last = readWords(parts.at(-1) ?? '');
  // UserService_GetUser, repos/listForUser: the last part is enough
  const words = parts.length > 1 && last.length > 1 && isVerb(last[0]) ? last : withoutPath(parts.flatMap(readWords), operation);
  const [first, ...others] = words;
  if (isVerb(first)) return { verb: first.toLowerCase(), rest: others };
  const final = words.at(-1);
  const before = words.slice(0, -1);
  if (!isVerb(final)) return undefined;
  const rest = before.filter((word) => word !== 'partial');
  const verb = { destroy: 'delete', retrieve: 'get' }[final] ?? final.toLowerCase();
  return { verb, rest: verb === 'create' ? toSingular(rest) : rest };
}

const methodNames = /^(get|post|put|patch|delete)$/;
const vague = /^(all|one|many|by|id|index|handler|api|v?\d+)$/;

/** Whether the words only repeat the path, as in generated operationIds. */
function isFromPath(rest: readonly string[], path: string): boolean {
  const squash = (words: readonly string[]) => words.map((word) => pluralize.singular(word.toLowerCase())).join('');
  const read = (text: string) =>
    text
      .split('/')
      .flatMap(readWords)
      .filter((word) => !isVersion(word) && word !== 'api');
  const squashed = squash(rest.filter((word) => word !== 'by' && word !== 'api' && !isVersion(word)));
  const literal = read(path.replace(/\{[^{}]*\}/g, ''));
  const places = [...path.matchAll(/\{([^{}]*)\}/g)].flatMap(([, name = '']) => readWords(name));
  return [literal, read(path.replace(/[{}]/g, ' ')), [...literal, ...places]].some((words) => squash(words) === squashed);
}

/** A name such as "Delete a coupon", from the operationId unless that only repeats the path, which is then more precise. */
export function nameAction(operation: Unnamed): string {
  const id = (operation.operationId ?? '').replace(/controller(?=[._\-/])/i, '');
  const read = isFromPath(readWords(id), operation.path) ? undefined : readId(id, operation);
  if (read === undefined) return nameByPath(operation, undefined);
  const { verb, rest } = read;
  const isVague = rest.every((word) => vague.test(word));
  const own = methodNames.test(verb) && !(verb === 'get' && operation.method === 'GET') ? undefined : verb;
  if (isVague || isFromPath(rest, operation.path)) return nameByPath(operation, own === 'get' ? undefined : own);
  const isHttpVerb = methodNames.test(verb) && verb !== 'get' && verb !== 'delete';
  const chosenVerb =
    isHttpVerb && verb !== operation.method.toLowerCase() ? verb : ({ post: 'create', put: 'update', patch: 'update' }[verb] ?? verb);
  const object = chosenVerb === 'list' ? toPlural(rest).join(' ') : prepositions.test(rest[0] ?? '') ? rest.join(' ') : withArticle(rest);
  return capitalize(`${chosenVerb} ${object}`);
}

interface Named {
  name: string;
  method: string;
  path: string;
}

const segmentsOf = (path: string): string[] => path.split('/').filter(Boolean);
const inWords = (segments: readonly string[]): string =>
  segments.flatMap((segment) => (isVersion(segment) ? [segment] : readWords(segment))).join(' ');

/** Segments that all paths of a group have. */
const sharedSegments = (group: readonly Named[]): ReadonlySet<string> =>
  group.reduce(
    (shared: ReadonlySet<string>, { path }) => new Set(segmentsOf(path).filter((segment) => shared.has(segment))),
    new Set(segmentsOf(group[0]?.path ?? '')),
  );

/** Labels that distinguish operations of the same name, shortest first; a label may be empty. */
const labels: ((one: Named, shared: ReadonlySet<string>) => string)[] = [
  ({ path }, shared) => inWords(segmentsOf(path).filter((part) => !part.includes('{') && !shared.has(part))),
  ({ path }, shared) => {
    const places = segmentsOf(path).filter((part) => part.includes('{') && !shared.has(part));
    return places.length > 0 ? `by ${inWords(places)}` : '';
  },
  ({ method }) => method,
  ({ method, path }) => `${method} ${path}`,
];

/** Unique names: operations with the same name get a label in parentheses. */
export function distinguish(operations: readonly Named[]): string[] {
  const names = operations.map(({ name }) => name);
  const groups = () => [...Map.groupBy(operations.keys(), (at) => names[at]?.toLowerCase())].filter(([, group]) => group.length > 1);
  for (const label of labels) {
    for (const [, indices] of groups()) {
      const group = indices.map((at) => operations[at]).filter((one) => one !== undefined);
      const shared = sharedSegments(group);
      const found = group.map((one) => label(one, shared));
      if (new Set(found).size < found.length) continue;
      for (const [index, at] of indices.entries()) if (found[index] !== '') names[at] = `${operations[at]?.name} (${found[index]})`;
    }
  }
  return names;
}
