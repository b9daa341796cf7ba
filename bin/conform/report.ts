import { printLine, style } from '../cli/terminal.ts';
import type { Check } from './check.ts';

export interface CheckOutcome extends Pick<Check, 'id' | 'clause' | 'title'> {
  outcome: 'passed' | 'failed' | 'skipped';
  /** findings, or the reason for skipping the check */
  notes: string[];
}

export interface Report {
  url: string;
  protocol: string;
  passed: number;
  failed: number;
  skipped: number;
  checks: CheckOutcome[];
  /** records that could not be removed */
  left_behind: string[];
}

const marks = { passed: style('green', '✓'), failed: style('red', '✗'), skipped: style('yellow', '-') };

/** Prints the outcome of a check. */
export function showOutcome({ id, clause, title, outcome, notes }: CheckOutcome): void {
  printLine(`${marks[outcome]} ${title} ${style('dim', `section ${clause}, ${id}`)}`);
  for (const note of notes) printLine(`    ${note}`);
}

export function showSummary({ url, passed, failed, skipped, left_behind }: Report): void {
  printLine(`\n${url}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  for (const path of left_behind) printLine(`Could not remove a record that the checks created: ${path}`);
}
