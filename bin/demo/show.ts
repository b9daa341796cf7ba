import { printJson, printLine, style } from '../cli/terminal.ts';
import type { Step } from './play.ts';

const indent = '   ';

/** Wraps between words; list items get a hanging indent. */
function wrap(text: string, width: number): string[] {
  const hanging = text.startsWith('- ') ? '  ' : '';
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(line === undefined ? word : hanging + word);
  }
  return lines;
}

export function showStep({ title, answer: { request, status, durationMs }, outcome }: Step, number: number): void {
  const width = Math.min(process.stdout.columns ?? 100, 100) - indent.length;
  const code = style(status < 400 ? 'green' : 'yellow', String(status));
  printLine(style('bold', `${number}. ${title}`));
  printLine(`${indent}${style('dim', request)}`);
  printLine(`${indent}${code} ${style('dim', `in ${Math.max(1, Math.round(durationMs))} ms`)}`);
  for (const line of outcome.flatMap((text) => wrap(text, width))) printLine(indent + line);
  printLine();
}

export function showStepAsJson({ title, answer, outcome }: Step, number: number): void {
  const { request, status, durationMs, body } = answer;
  printJson({ step: number, title, request, status, duration_ms: Math.round(durationMs), outcome, body });
}
