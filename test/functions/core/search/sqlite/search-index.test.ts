import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { IntentRecord, ServiceRecord } from '../../../../../functions/core/registry/records.ts';
import { openSearchIndex, type SearchIndex } from '../../../../../functions/core/search/sqlite/search-index.ts';
import { type IntentInput, toIntentDetails } from '../../../../../schemas/intent.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { makeFolder } from '../../../../support/folder.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';

const serviceRecord = (service_id: string, name: string): ServiceRecord => ({
  kind: 'service',
  service_id,
  rev: 1,
  intents: 0,
  drafts: 0,
  ...serviceNamed(name),
});

const intentRecord = (uid: string, service_id: string, more: Partial<IntentInput> = {}): IntentRecord => ({
  ...intentOf(uid, more),
  kind: 'intent',
  service_id,
  rev: 1,
});

const weather = intentRecord('sky.example:get-forecast:v1', 'sky', {
  intent_name: 'getForecast',
  description: 'The weather of the coming days at a place',
  tags: ['Weather', 'Public Data'],
  input_parameters: [{ name: 'cityName', type: 'string', description: 'a town such as Łódź' }],
});
const alerts = intentRecord('sky.example:storm-alerts:v1', 'sky', {
  endpoint: { ...intentOf('a.example:b:v1').endpoint, method: 'DELETE' },
  intent_name: 'Storm alerts',
  description: 'Warns of storms, floods and other bad weather',
  tags: ['weather'],
});
const convert = intentRecord('Money.Example:convert:v2', 'bank', {
  intent_name: 'convert_currency',
  description: 'Turns an amount of money into another currency at today’s rate. GitHub is not involved',
  tags: ['money', 'public data'],
});
const repository = intentRecord('code.example:read-file:v1', 'code', {
  intent_name: 'Read file',
  description: 'Reads a file from a github repository',
});
const old = intentRecord('sky.example:get-forecast:v0', 'sky', {
  intent_name: 'getForecast',
  description: 'The weather',
  deprecated: true,
});

const folder = makeFolder();
const opened: SearchIndex[] = [];
afterAll(() => {
  for (const index of opened) index.close();
});
/** An index of these records. */
function open(...records: Parameters<SearchIndex['apply']>[0]): SearchIndex {
  const index = openSearchIndex(':memory:');
  opened.push(index);
  index.apply(records);
  return index;
}

const services = [serviceRecord('sky', 'Himmel & Wétter'), serviceRecord('bank', 'CoinBureau'), serviceRecord('code', 'Hub of code')];
const index = open(weather, alerts, convert, repository, old, ...services);

const search = (query: Record<string, string>, at = index) => at.search(searchQuery.parse(query));
const uids = (query: Record<string, string>, at = index) => search(query, at).hits.map(({ intent }) => intent.intent_uid);

describe('filters', () => {
  const all = [convert, repository, weather, alerts].map(({ intent_uid }) => intent_uid);
  test.each<[string, Record<string, string>, string[]]>([
    ['nothing asked: all but the deprecated, by uid', {}, all],
    ['uid', { uid: weather.intent_uid }, [weather.intent_uid]],
    ['uid in another case', { uid: weather.intent_uid.toUpperCase() }, []],
    ['uid of a deprecated one', { uid: old.intent_uid }, [old.intent_uid]],
    ['uid of a deprecated one, and a filter it fails', { uid: old.intent_uid, tags: 'weather' }, []],
    ['namespace in another case', { namespace: 'money.EXAMPLE' }, [convert.intent_uid]],
    ['namespace of deprecated ones too', { namespace: 'sky.example' }, [weather.intent_uid, alerts.intent_uid]],
    ['a tag', { tags: 'WEATHER' }, [weather.intent_uid, alerts.intent_uid]],
    ['every tag', { tags: 'weather, public data' }, [weather.intent_uid]],
    ['commas without tags', { tags: ' , ' }, all],
    ['service name: words begun', { service_name: 'wet HIM' }, [weather.intent_uid, alerts.intent_uid]],
    ['service name: accents either way', { service_name: 'wètter' }, [weather.intent_uid, alerts.intent_uid]],
    ['service name in camelCase', { service_name: 'bureau' }, [convert.intent_uid]],
    ['intent name: no part of a word', { intent_name: 'cast' }, []],
    ['intent name written in camelCase', { intent_name: 'convertCurrency' }, [convert.intent_uid]],
    ['intent name as one word', { intent_name: 'getfore' }, [weather.intent_uid]],
    ['description: other fields do not count', { description: 'storm currency' }, []],
    ['description: words are not stemmed', { description: 'reading' }, []],
    ['description: camelCase finds the plain word', { description: 'GitHub file' }, [repository.intent_uid]],
    ['words of marks alone match nothing', { intent_name: '**' }, []],
    ['all must hold', { namespace: 'sky.example', tags: 'weather', description: 'flood' }, [alerts.intent_uid]],
    ['a method', { method: 'DELETE' }, [alerts.intent_uid]],
    ['a method, with a question', { method: 'PATCH', query: 'weather' }, []],
    ['with a question', { query: 'bad weather', tags: 'public data' }, [weather.intent_uid]],
  ])('a search with a filter finds its intents: %s', (_, query, found) => {
    expect(uids(query)).toEqual(found);
    expect(search(query).total).toBe(found.length);
  });
});

test('the verdict of a policy is requested once for each intent, until the policy or the registry changes', () => {
  const own = open(weather, alerts, convert, ...services);
  const asked: string[] = [];
  const find = (judgedBy: object) => {
    asked.length = 0;
    const isForbidden = (uid: string) => asked.push(uid) > 0 && uid === alerts.intent_uid;
    own.search(searchQuery.parse({ query: 'weather storm', permitted: 'true' }), { isForbidden, judgedBy });
    const { hits } = own.search(searchQuery.parse({ permitted: 'true' }), { isForbidden, judgedBy });
    return [hits.map(({ intent }) => intent.intent_uid), [...asked].sort()];
  };
  const [policy, all] = [{}, [convert, weather, alerts].map(({ intent_uid }) => intent_uid).sort()];
  const permitted = [convert.intent_uid, weather.intent_uid];
  expect(find(policy)).toEqual([permitted, all]);
  expect(find(policy)).toEqual([permitted, []]);
  expect(find({})).toEqual([permitted, all]);
  own.apply([{ ...convert, description: 'changed' }]);
  expect(find(policy)).toEqual([permitted, all]);
});

describe('questions', () => {
  test.each<[string, string, string[]]>([
    ['any word may match', 'currency storm', [convert.intent_uid, alerts.intent_uid]],
    ['other forms of a word', 'converting currencies', [convert.intent_uid]],
    ['words of parameters', 'lodz', [weather.intent_uid]],
    ['a word that nobody writes as one', 'publicdata', [convert.intent_uid, weather.intent_uid]],
    ['marks alone find nothing', '?!', []],
    ['stop words alone are looked for', 'at', [convert.intent_uid, weather.intent_uid]],
    ['FTS5 operators are words', 'storm AND currency', [convert.intent_uid, alerts.intent_uid]],
  ])('a question finds its intents: %s', (_, query, found) => {
    expect(uids({ query }).toSorted()).toEqual(found.toSorted());
    expect(search({ query }).total).toBe(found.length);
  });

  test('a search explains its hits', () => {
    const { hits } = search({ query: 'When do the storms and floods come, github?', explain: 'true', uid: alerts.intent_uid });
    expect(hits).toEqual([
      {
        intent: toIntentDetails(alerts, 'Himmel & Wétter'),
        match: { score: expect.any(Number), words: ['storms', 'floods'] },
      },
    ]);
    expect(hits[0]?.match?.score).toBeGreaterThan(0);
    expect(search({ explain: 'true', uid: alerts.intent_uid }).hits[0]?.match).toEqual({ score: 0, words: [] });
  });

  test('a search never fails, whatever is asked', () => {
    const operators = ['"""', '*', 'NEAR(a b, 2)', 'AND', '{name} :', '(', '^'];
    const odd = ['wea\0ther', '\u202e', '\ud800', 'a'.repeat(1_500), 'a '.repeat(700)];
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom(...operators, ...odd));
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), text, (parts, filter) => {
        const { hits, total } = search({ query: parts.join(' '), intent_name: filter, namespace: filter, tags: filter, uid: filter });
        expect(hits.length).toBe(total);
        search({ query: parts.join(' '), description: filter, explain: 'true' });
      }),
    );
  });
});

describe('pages', () => {
  const numbered = (n: number) =>
    intentRecord(`pages.example:number-${String(n).padStart(3, '0')}:v1`, 'sky', { description: 'one of the twins' });
  const many = open(serviceRecord('sky', 'Sky'), ...Array.from({ length: 205 }, (_, n) => numbered((n * 83) % 205)));
  const sorted = Array.from({ length: 205 }, (_, n) => numbered(n).intent_uid);

  test.each([
    ['by uid', {}],
    ['of equal scores', { query: 'twins' }],
    ['of a filter', { description: 'twi', namespace: 'pages.example' }],
  ])('pages %s hold everything once, in order of uid', (_, query) => {
    const pages = Array.from({ length: 21 }, (_, page) => uids({ ...query, page: String(page + 1) }, many));
    expect(pages.flat()).toEqual(sorted);
    expect(uids({ ...query, page: '22' }, many)).toEqual([]);
    expect(search({ ...query, page: '1000000000', page_size: '100' }, many)).toEqual({ hits: [], total: 205 });
  });

  test('pages go on after a uid, whatever is written before it', () => {
    expect(uids({ after: sorted[99] as string, page: '7', page_size: '5' }, many)).toEqual(sorted.slice(100, 105));
    expect(search({ after: sorted[99] as string }, many).total).toBe(205);
  });
});

describe('records', () => {
  const sky = serviceRecord('sky', 'Sky');

  test.each<[string, Parameters<SearchIndex['apply']>]>([
    ['the intent goes', [[], [{ kind: 'intent', id: weather.intent_uid }]]],
    ['its service goes, and it comes once more', [[weather], [{ kind: 'service', id: 'sky' }]]],
    ['it moves to a service that is gone', [[{ ...weather, service_id: 'none' }]]],
  ])('records are not found any more when %s', (_, changes) => {
    const fresh = open(sky, weather);
    fresh.apply(...changes);
    for (const query of [{}, { query: 'forecast' }, { tags: 'weather' }, { description: 'weather' }])
      expect(search(query as Record<string, string>, fresh)).toEqual({ hits: [], total: 0 });
    fresh.apply([sky, weather]);
    expect(search({ query: 'forecast' }, fresh).total).toBe(1);
  });

  test('records are found under the new name of their service', () => {
    const fresh = open(sky, weather);
    fresh.apply([serviceRecord('sky', 'Heaven')]);
    expect(search({ service_name: 'heaven' }, fresh).hits[0]?.intent.service_name).toBe('Heaven');
    expect(uids({ service_name: 'sky' }, fresh)).toEqual([]);
  });
});

describe('meaning', () => {
  const films = open(
    serviceRecord('reel', 'Reel'),
    intentRecord('reel.example:a:v1', 'reel', { intent_name: 'Book reviews', description: 'Reviews of new novels' }),
    intentRecord('reel.example:b:v1', 'reel', { intent_name: 'Movie reviews', description: 'Reviews of new movies' }),
    intentRecord('reel.example:c:v1', 'reel', { intent_name: 'Movie times', description: 'When movies are shown', tags: ['Program'] }),
    intentRecord('reel.example:d:v1', 'reel', { intent_name: 'Reel', description: 'Winds a cable up' }),
  );
  const tonight = 'Which romantic comedies run at the cinema tonight?';

  test('a search by meaning orders what a question found by its words', () => {
    expect(uids({ query: 'reviews of films' }, films)).toEqual(['reel.example:b:v1', 'reel.example:a:v1']);
  });

  test('a search by meaning finds what a question holds no word of, and counts it', () => {
    const { hits, total } = search({ query: tonight, explain: 'true' }, films);
    const found = hits.map(({ intent }) => intent.intent_uid);
    expect(found).toEqual(expect.arrayContaining(['reel.example:b:v1', 'reel.example:c:v1']));
    expect(found).not.toContain('reel.example:d:v1');
    expect(hits.map(({ match }) => match?.words)).toEqual(hits.map(() => []));
    expect(total).toBe(hits.length);
    expect(search({ query: 'cinema' }, films)).toEqual({ hits: [], total: 0 });
  });

  test('a search by meaning finds only what passes the filters', () => {
    expect(uids({ query: tonight, tags: 'program' }, films)).toEqual(['reel.example:c:v1']);
    expect(uids({ query: tonight, namespace: 'other.example' }, films)).toEqual([]);
  });

  test('a search by meaning follows changes, and stays what it was if records cannot be applied', () => {
    const movie = intentRecord('reel.example:m:v1', 'reel', { intent_name: 'Movie times', description: 'When movies are shown' });
    const index = open(serviceRecord('reel', 'Reel'), movie);
    const unreadable = Object.defineProperty(intentRecord('reel.example:n:v1', 'reel', {}), 'tags', {
      enumerable: true,
      get: () => {
        throw new Error('unreadable');
      },
    });
    const cable = { ...movie, intent_name: 'Cable length', description: 'How much is wound up' };
    expect(() => index.apply([cable, unreadable])).toThrow('unreadable');
    expect(uids({ query: tonight }, index)).toEqual([movie.intent_uid]);
    index.apply([cable]);
    expect(uids({ query: tonight }, index)).toEqual([]);
    index.apply([{ ...movie, deprecated: true }]);
    expect(uids({ query: tonight }, index)).toEqual([]);
    expect(uids({ query: tonight, uid: movie.intent_uid }, index)).toEqual([movie.intent_uid]);
  });
});

describe('a question that is a name', () => {
  const verbs = ['List', 'Get', 'Create', 'Update', 'Delete'];
  const things = ['issue', 'pull request', 'release', 'customer', 'payment method', 'team', 'user'];
  const places = ['', ' for a user', ' of an organization', ' by id', ' in a repository', ' type', ' for the authenticated user'];
  const named = (name: string, at: number, more: Partial<IntentInput> = {}) =>
    intentRecord(`api-${at % 9}.example:op-${at}:v1`, `api-${at % 9}`, { intent_name: name, ...more });
  const names = things.flatMap((thing) =>
    verbs.flatMap((verb) => places.flatMap((place) => [`${verb} ${thing}${place}`, `${verb}s ${thing}s${place}`])),
  );
  // as documents of APIs are: descriptions and parameters say the words of other names more often than these do
  const real = names.map((name, at) =>
    named(name, at, {
      description: [name, names[(at * 7) % names.length], names[(at * 7) % names.length], names[(at * 13 + 5) % names.length]].join('. '),
      tags: [things[at % things.length] as string],
      input_parameters: [
        { name: 'filter', type: 'string', description: `${names[(at * 31 + 1) % names.length]}, or ${names[(at + 1) % names.length]}` },
      ],
    }),
  );
  const odd = [
    'What is it',
    'Do',
    'X',
    '天気予報',
    'getHTTPStatus2',
    'GitHub sign-in',
    'Łódź: où & naïve',
    'list users (deprecated style)',
    `Long ${'and winding '.repeat(16)}`.slice(0, 200).trim(),
  ].map((name, at) => named(name, names.length + at));
  const registry = open(...Array.from({ length: 9 }, (_, at) => serviceRecord(`api-${at}`, `API ${at}`)), ...real, ...odd);
  const firstOf = (query: string) => uids({ query, page_size: '1' }, registry)[0];

  test.each<[string, (name: string) => string]>([
    ['as it is written', (name) => name],
    ['in capitals, with white space and punctuation', (name) => `  ${name.toUpperCase().replaceAll(' ', '   ')}?! `],
    ['in kebab-case', (name) => name.replaceAll(' ', '-')],
    ['in snake_case', (name) => name.replaceAll(' ', '_')],
    ['in camelCase', (name) => name.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase())],
    ['with other accents', (name) => name.normalize('NFD').replace('é', 'e')],
  ])('a question that is a name finds that intent of hundreds first, %s', (_, write) => {
    // a prime apart, so that every verb, thing and place has its turn
    const asked = [...real.filter((_, at) => at % 11 === 0), ...odd];
    const missed = asked.filter(({ intent_uid, intent_name }) => firstOf(write(intent_name)) !== intent_uid);
    expect(missed.map(({ intent_name }) => intent_name)).toEqual([]);
  });

  test('a question that is a name passes the filters all the same, and never finds what is deprecated', () => {
    const index = open(
      serviceRecord('a', 'A'),
      intentRecord('a.example:one:v1', 'a', { intent_name: 'Create an issue', tags: ['one'] }),
      intentRecord('b.example:two:v1', 'a', { intent_name: 'Create reaction for an issue', description: 'Create an issue', tags: ['two'] }),
      intentRecord('a.example:old:v1', 'a', { intent_name: 'Create an issue!', deprecated: true }),
    );
    const find = (more: Record<string, string>) => uids({ query: 'create an issue', ...more }, index);
    expect(find({})).toEqual(['a.example:one:v1', 'b.example:two:v1']);
    expect(find({ tags: 'two' })).toEqual(['b.example:two:v1']);
    expect(find({ namespace: 'b.example' })).toEqual(['b.example:two:v1']);
    expect(find({ uid: 'a.example:old:v1' })).toEqual(['a.example:old:v1']);
  });

  test('intents of one name are ordered as others are, those that are written alike first, and paged through once', () => {
    const many = Array.from({ length: 450 }, (_, at) =>
      intentRecord(`m.example:op-${String(at).padStart(3, '0')}:v1`, 'm', {
        intent_name: at === 449 ? 'listusers' : 'List users',
        description: at % 2 ? 'users' : 'Nothing else',
      }),
    );
    const better = intentRecord('m.example:better:v1', 'm', {
      intent_name: 'List list users',
      description: 'List users '.repeat(9),
      tags: ['list', 'users'],
    });
    const index = open(serviceRecord('m', 'M'), better, ...many);
    expect(uids({ query: 'listusers', page_size: '2' }, index)).toEqual([
      'm.example:op-449:v1',
      expect.stringMatching(/op-\d\d[13579]:v1$/),
    ]);
    const pages = Array.from({ length: 10 }, (_, at) => uids({ query: 'list users', page: String(at + 1), page_size: '50' }, index));
    expect(pages.flat().length).toBe(451);
    expect(new Set(pages.flat()).size).toBe(451);
    expect(pages[0]).toEqual([...(pages[0] as string[])].sort());
    expect(pages[0]?.every((uid) => /op-\d\d[13579]/.test(uid))).toBe(true);
    expect(search({ query: 'list users', page: '3' }, index).total).toBe(451);
  });

  test('an intent is found by a name that holds none of its words', () => {
    const index = open(serviceRecord('a', 'A'), intentRecord('a.example:one:v1', 'a', { intent_name: 'Chatroomlists' }));
    expect(search({ query: 'chat room lists', explain: 'true' }, index)).toMatchObject({ total: 1, hits: [{ match: { words: [] } }] });
  });
});

test('an index that was completed, closed and opened again says the same, before and after further changes', () => {
  const file = join(folder, 'index.sqlite');
  const made = openSearchIndex(file);
  const service = serviceRecord('sky', 'Himmel');
  const renamed = intentRecord(weather.intent_uid, 'sky', {
    intent_name: 'Rain ahead',
    description: 'How much rain falls in the coming days',
  });
  made.apply([weather, alerts, old, service]);
  made.apply([renamed], [{ kind: 'intent', id: alerts.intent_uid }]);
  made.apply([alerts]);
  const question = 'how much rain will fall in the days ahead';
  const scored = (query: string, index: SearchIndex) => index.search(searchQuery.parse({ query, explain: 'true' })).hits;
  const before = scored(question, made);
  expect(before[0]).toMatchObject({
    intent: { intent_uid: renamed.intent_uid },
    match: { words: expect.arrayContaining(['rain', 'fall']) },
  });
  made.compact();
  made.close();
  const opened = openSearchIndex(file);
  expect(scored(question, opened)).toEqual(before);
  opened.apply([weather, convert, serviceRecord('bank', 'CoinBureau')]);
  expect(uids({ query: 'weather forecast' }, opened)).toEqual([weather.intent_uid, alerts.intent_uid]);
  expect(uids({ query: 'convert currency' }, opened)).toEqual([convert.intent_uid]);
  opened.close();
});
