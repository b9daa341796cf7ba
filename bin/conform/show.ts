import { styleText } from 'node:util';
import type { CheckOutcome, Report } from './report.ts';

const marks = { passed: styleText('green', '✓'), failed: styleText('red', '✗'), skipped: styleText('yellow', '-') };

/** An outcome for people. Coloured if output goes to a terminal and NO_COLOR is not set. */
export function showOutcome({ id, clause, title, outcome, notes }: CheckOutcome): void {
  console.log(`${marks[outcome]} ${title} ${styleText('dim', `section ${clause}, ${id}`)}`);
  for (const note of notes) console.log(`    ${note}`);
}

/** The report's end for people. */
export function showSummary({ url, passed, failed, skipped, left_behind }: Report): void {
  console.log(`\n${url}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  for (const path of left_behind) console.log(`The checks could not remove what they made: ${path}`);
}
