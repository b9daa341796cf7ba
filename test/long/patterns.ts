/**
 * Patterns of strangers are matched in linear time, by measurement: patterns are generated (nested repetitions, overlapping alternatives, counted
 * repetitions and what else makes a backtracking engine explode), and every one that the gate accepts is tried on texts pumped from the pattern
 * itself, each twice as long as the one before. Doubling a text may at most double the CPU time. A pattern that seems to take more is measured again,
 * and only counts if it takes more every time.
 * `node bin/run.js test/long/patterns.ts [--patterns 2000] [--seed 1]`
 */
import { compilePattern, maxMatchedLength, type Pattern, PatternError } from '../../functions/core/parameters/pattern.ts';
import { chooseWith, seededRandom } from '../support/random.ts';
import { readNumbers } from './options.ts';

const { patterns: count, seed } = readNumbers({ patterns: 2_000, seed: 1 });
const random = seededRandom(seed);
const { below, pick } = chooseWith(random);

/** Patterns that are known to take a backtracking engine exponential or polynomial time, and a text that each is pumped with. */
const evil: [pattern: string, unit: string, end: string][] = [
  ['^(a+)+$', 'a', '!'],
  ['^(a|a)*$', 'a', '!'],
  ['^(a|aa)+$', 'a', '!'],
  ['^(.*a){20}$', 'a', '!'],
  ['^([a-zA-Z]+)*$', 'a', '!'],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a', ''],
  ['(x+x+)+y', 'x', ''],
  ['^(?:.|\\s)+$', ' ', '\n!'],
  ['\\s+$', ' ', '!'],
  ['^\\d+1\\d+2', '1', ''],
  ['^(0|1|01|10)*$', '01', '2'],
  ['^([0-9a-fA-F]{1,4}:){1,7}:$', 'a:', '!'],
  ['(.*)(.*)(.*)(.*)(.*)[^a]$', 'a', ''],
  ['^(a?){60}a{60}$', 'a', ''],
  ['^[\\w.+-]+@([\\w-]+\\.)+[\\w-]{2,}$', 'a@a.', '!'],
  ['^(\\w+\\s?)*$', 'word ', '!'],
];

/** A pattern at random, and a text that it repeats. */
function generate(depth = 0): { pattern: string; unit: string } {
  const leaf = () => {
    const letter = pick(['a', 'b', '0', 'x', ' ', '-', 'é']);
    return {
      pattern: pick([letter, letter, '.', '\\w', '[a-z]', '[^\\n]', '\\d', '[ab]', '\\s', '[\\w-]']).replace('-]', '\\-]'),
      unit: letter,
    };
  };
  if (depth > 3 || random() < 0.2) return leaf();
  const [one, other] = [generate(depth + 1), generate(depth + 1)];
  return pick([
    () => ({ pattern: `(${one.pattern}+)+`, unit: one.unit }),
    () => ({ pattern: `(?:${one.pattern}*)*`, unit: one.unit }),
    () => ({ pattern: `(${one.pattern}|${one.pattern}${one.pattern})*`, unit: one.unit }),
    () => ({ pattern: `(${one.pattern}|${other.pattern})+`, unit: one.unit + other.unit }),
    () => ({ pattern: `(?:${one.pattern}?){${1 + below(30)}}`, unit: one.unit }),
    () => ({ pattern: `(?:${one.pattern}){${below(5)},${5 + below(30)}}`, unit: one.unit }),
    () => ({ pattern: `(?:${one.pattern}){${1 + below(200)},}`, unit: one.unit }),
    () => ({ pattern: `${one.pattern}*${one.pattern}*${one.pattern}*`, unit: one.unit }),
    () => ({ pattern: `.*${one.pattern}.*${other.pattern}`, unit: one.unit + other.unit }),
    () => ({ pattern: one.pattern + other.pattern, unit: one.unit + other.unit }),
    () => ({ pattern: `(?:^|${one.pattern})*?${other.pattern}`, unit: one.unit }),
  ])();
}

/** CPU time of matching a text, the least of a few tries: whatever else runs here only adds to it. */
function measure(pattern: Pattern, text: string, tries: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let left = tries; left > 0; left--) {
    const started = process.cpuUsage();
    pattern.matches(text);
    const { user, system } = process.cpuUsage(started);
    least = Math.min(least, user + system);
  }
  return least;
}

const lengths = [maxMatchedLength / 16, maxMatchedLength / 8, maxMatchedLength / 4, maxMatchedLength / 2, maxMatchedLength];

/** Times shorter than this, in microseconds, say nothing. */
const minMeasured = 2_000;
/** Three doublings may take eight times as long; the rest is for caches and the collector. */
const maxGrowth = 8 * 2.5;

/** How much longer the longest text takes than one of an eighth of its length, if that says something. */
function growthOf(pattern: Pattern, unit: string, end: string, tries: number): number {
  const texts = lengths.map((length) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length - end.length) + end);
  const times = texts.map((text) => measure(pattern, text, tries));
  const [, short = 0, , , long = 0] = times;
  return long < minMeasured ? 0 : long / Math.max(short, minMeasured / 8);
}

let [accepted, refused, worst] = [0, 0, 0];
const violations: string[] = [];

function tryPattern(source: string, unit: string, end: string): void {
  let pattern: Pattern;
  try {
    pattern = compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    refused++;
    return;
  }
  accepted++;
  let growth = Number.POSITIVE_INFINITY;
  for (const tries of [1, 3, 9]) {
    growth = Math.min(growth, growthOf(pattern, unit, end, tries));
    if (growth <= maxGrowth) break;
  }
  worst = Math.max(worst, growth);
  if (growth > maxGrowth) violations.push(`${source} on "${unit}": eight times the text takes ${growth.toFixed(1)} times as long`);
}

for (const [source, unit, end] of evil) tryPattern(source, unit, end);
for (let made = 0; made < count; made++) {
  const { pattern, unit } = generate();
  tryPattern(pick([`^${pattern}$`, `^(${pattern})+$`, pattern]), unit, pick(['', '!', '\n']));
}

// the measurement has to find what it looks for: a matcher that takes quadratic time, as the engine of JavaScript does
const native = /\s+$/;
const quadratic: Pattern = { matches: (text) => native.test(text), size: 1 };
const found = growthOf(quadratic, ' ', '!', 3);
if (found <= maxGrowth) violations.push(`a matcher of quadratic time was not found: ${found.toFixed(1)}`);

console.log(`${accepted} patterns were accepted, ${refused} refused; eight times the text took at most ${worst.toFixed(1)} times as long`);
console.log(`a planted matcher of quadratic time: ${found.toFixed(1)} times; ${violations.length} violations`);
for (const violation of violations.slice(0, 20)) console.log(violation);
process.exitCode = violations.length > 0 ? 1 : 0;
