import { styleText } from 'node:util';
import type { Step } from './play.ts';

/** Prints a step for people. Colour follows NO_COLOR and whether somebody watches. */
export function showStep({ title, request, status, durationMs, outcome }: Step, number: number): void {
  const statusColour = status < 400 ? 'green' : 'yellow';
  console.log(`${styleText('bold', `${number}. ${title}`)}`);
  console.log(
    `   ${styleText('dim', request)}  ${styleText(statusColour, String(status))} ${styleText('dim', `in ${Math.max(1, Math.round(durationMs))} ms`)}`,
  );
  for (const line of outcome) console.log(`   ${line}`);
  console.log();
}

/** Prints a step for programs: one JSON object on a line. */
export function showStepAsJson({ title, request, status, durationMs, outcome, body }: Step, number: number): void {
  console.log(JSON.stringify({ step: number, title, request, status, duration_ms: Math.round(durationMs), outcome, body }));
}
