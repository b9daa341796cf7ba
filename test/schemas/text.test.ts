import { expect, test } from '@jest/globals';
import { replaceHidden, toPrintable, toPrintableJson } from '../../client/printable.ts';
import { describeHidden, description, escapeHiddenInJson, foldName, name, withoutHidden } from '../../schemas/text.ts';

const family = '\u{1f468}\u200d\u{1f469}\u{1f3fd}\u200d\u{1f467}';
const refused = (codePoint: string, at: number) => `must not contain the invisible or control character ${codePoint} (character ${at})`;

test.each([
  ['letters of many scripts', 'Größe 東京 שלום مرحبا'],
  ['ZWNJ between letters', 'می\u200cخواهم'],
  ['ZWJ after a virama', 'ක්\u200dර'],
  ['an emoji with its selector', 'sun \u2600\ufe0f'],
  ['a keycap', '1\ufe0f\u20e3'],
  ['a family', family],
  ['a flag with a rainbow', '\u{1f3f3}\ufe0f\u200d\u{1f308}'],
])('%s may be in names and descriptions', (_, text) => {
  expect(name(200).parse(text)).toBe(text.normalize('NFC'));
  expect(description.parse(text)).toBe(text);
  expect(toPrintable(text)).toBe(text);
});

test.each([
  { what: 'a tag character', text: 'Get weather\u{e0053}', codePoint: 'U+E0053', at: 12 },
  { what: 'zero width space', text: 'Acme\u200bBot', codePoint: 'U+200B', at: 5 },
  { what: 'soft hyphen', text: 'a\u00adb', codePoint: 'U+00AD', at: 2 },
  { what: 'invisible plus', text: 'a\u2064b', codePoint: 'U+2064', at: 2 },
  { what: 'a variation selector after a letter', text: 'a\ufe0fb', codePoint: 'U+FE0F', at: 2 },
  { what: 'a variation selector after a digit', text: '1\ufe0f', codePoint: 'U+FE0F', at: 2 },
  { what: 'a variation selector of the supplement', text: 'a\u{e0101}', codePoint: 'U+E0101', at: 2 },
  { what: 'a run of joiners', text: 'a\u200d\u200db', codePoint: 'U+200D', at: 2 },
  { what: 'a joiner at the end', text: 'a\u200d', codePoint: 'U+200D', at: 2 },
  { what: 'a Hangul filler', text: 'a\u3164b', codePoint: 'U+3164', at: 2 },
  { what: 'escape', text: 'a\u001b[8mb', codePoint: 'U+001B', at: 2 },
  { what: 'CSI', text: 'a\u009b8mb', codePoint: 'U+009B', at: 2 },
  { what: 'delete', text: 'a\u007f', codePoint: 'U+007F', at: 2 },
  { what: 'a carriage return', text: 'a\rb', codePoint: 'U+000D', at: 2 },
  { what: 'Arabic letter mark', text: 'a\u061cb', codePoint: 'U+061C', at: 2 },
  { what: 'an override', text: '\u{1f600}\u202eb', codePoint: 'U+202E', at: 2 },
  { what: 'an isolate', text: 'a\u2066b', codePoint: 'U+2066', at: 2 },
  { what: 'line separator', text: 'a\u2028b', codePoint: 'U+2028', at: 2 },
  { what: 'paragraph separator', text: 'a\u2029b', codePoint: 'U+2029', at: 2 },
  { what: 'byte order mark', text: 'a\ufeffb', codePoint: 'U+FEFF', at: 2 },
])('$what is refused by its number and place, and not echoed', ({ text, codePoint, at }) => {
  for (const schema of [name(200), description]) {
    expect(schema.safeParse(text).error?.issues).toMatchObject([{ message: refused(codePoint, at) }]);
  }
  expect(toPrintable(text)).toContain(`\\u{${codePoint.slice(2).toLowerCase().replace(/^0+/, '')}}`);
  expect(describeHidden(toPrintable(text), true)).toBeUndefined();
  expect(describeHidden(withoutHidden(text), true)).toBeUndefined();
});

test('line breaks and tabs are for descriptions only; the line breaks of Windows become usual ones', () => {
  expect(description.parse('a\r\n\tb')).toBe('a\n\tb');
  expect(name(9).safeParse('a\tb').error?.issues).toMatchObject([{ message: refused('U+0009', 2) }]);
  expect(name(9).safeParse('\u200b ').error?.issues).toMatchObject([{ message: 'must not be empty' }]);
});

/** All characters but those of which there are tens of thousands alike, of which each 97th. */
function* eachCharacter(): Generator<string> {
  const isOneOfMany = /^[\p{Cn}\p{Co}\p{Ideographic}\uac00-\ud7a3]$/u;
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    const isTag = codePoint >= 0xe0000 && codePoint < 0xe1000;
    if (isTag || codePoint % 97 === 0 || !isOneOfMany.test(character)) yield character;
  }
}

test('what is refused here and what is shown as an escape on terminals is the same, and JSON keeps its value', () => {
  let count = 0;
  for (const character of eachCharacter()) {
    for (const text of [character, `x${character}y`, `\u2600${character}\u2600`]) {
      const isHidden = withoutHidden(text) !== text;
      if (isHidden) count++;
      if ((toPrintable(text) !== text) !== isHidden) throw new Error(`U+${character.codePointAt(0)?.toString(16)}`);
    }
    if (withoutHidden(character) === character) continue;
    const value = { [`a${character}`]: character };
    for (const json of [toPrintableJson(value), escapeHiddenInJson(JSON.stringify(value))]) {
      if (withoutHidden(json) !== json || JSON.stringify(JSON.parse(json)) !== JSON.stringify(value)) throw new Error(json);
    }
  }
  expect(count).toBeGreaterThan(12_000);
  expect(replaceHidden('a\u200bb', () => '-')).toBe('a-b');
});

test('names are the same in capitals, in small letters, and folded already', () => {
  const others: string[] = [];
  for (const character of eachCharacter()) {
    const text = `a${character}`;
    const folded = foldName(text);
    for (const one of [text.toLowerCase(), text.toUpperCase(), folded]) if (foldName(one) !== folded) others.push(text);
  }
  expect(others).toEqual([]);
});
