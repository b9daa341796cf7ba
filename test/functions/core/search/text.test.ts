import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { tokenize, wordsOf } from '../../../../functions/core/search/text.ts';

describe('wordsOf', () => {
  test.each([
    ['nothing', '', []],
    ['only marks', '?! "*" -- ()', []],
    ['plain words', 'Find a flight', ['find', 'a', 'flight']],
    ['camelCase', 'getUserName', ['get', 'user', 'name', 'getusername']],
    ['PascalCase with a shout', 'HTTPServerURL', ['http', 'server', 'url', 'httpserverurl']],
    ['digits inside', 'base64Encode mp3 3D', ['base64', 'encode', 'base64encode', 'mp3', '3d']],
    ['snake and kebab', 'get_user-name', ['get', 'user', 'name']],
    ['a path', 'GET /pets/{petId}', ['get', 'pets', 'pet', 'id', 'petid']],
    ['accents, composed and not', 'Café Cafe\u0301 ŁÓDŹ', ['cafe', 'cafe', 'lodz']],
    ['letters that have no accent to lose', 'Straße SMØRREBRØD', ['strasse', 'smorrebrod']],
    ['accents that stand alone', 'wait ¨ \u0301 here', ['wait', 'here']],
    ['compatibility forms', 'ﬁle Ｗｉｄｅ ①', ['file', 'wide', '1']],
    ['an unspaced script', '天气预报', ['天气', '气预', '预报', '报']],
    ['scripts mixed', 'get天気now', ['get', '天気', '気', 'now']],
    ['vowel signs that are part of a word', 'हिन्दी', ['हिन्दी']],
    ['a right-to-left script', 'שלום עולם', ['שלום', 'עולם']],
  ])('wordsOf divides a text into words: %s', (_, text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test('wordsOf gives folded words of letters, digits and marks whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const word of wordsOf(text)) {
          expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
          expect(tokenize(word).map(({ whole }) => whole)).not.toEqual([]);
        }
      }),
    );
  });
});
