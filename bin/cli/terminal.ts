import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { CliFailure, usageFailure } from './failure.ts';

export type Style = Parameters<typeof styleText>[0];

export interface Progress {
  /** one more is done */
  step(): void;
  /** clears the line */
  end(): void;
}

/** How a command talks to people and programs. Results go to stdout; questions, progress and errors to stderr. */
export interface Terminal {
  /** whether results are JSON */
  isJson: boolean;
  /** whether there is a person to ask */
  isInteractive: boolean;
  /** a line for people; nothing if results are JSON */
  say(line?: string): void;
  /** a remark for people beside the result, on stderr */
  remark(line: string): void;
  /** the result for programs; nothing if results are for people */
  json(result: unknown): void;
  /** the result for programs, or this line for people */
  result(result: unknown, line: string): void;
  /** a record as names and values */
  record(record: Record<string, unknown>): void;
  /** coloured if output goes to a terminal and NO_COLOR is not set */
  style(style: Style, text: string): string;
  /** aligned columns */
  table(rows: readonly (readonly string[])[]): void;
  ask(question: string): Promise<string>;
  askSecret(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  /**
   * Asks before something is lost, unless the person is sure (`--yes`).
   * @throws CliFailure if the answer is no, or if there is no terminal to ask on
   */
  requireConfirmation(question: string, isSure: boolean | undefined): Promise<void>;
  /** a progress counter on one line; nothing if output does not go to a terminal */
  progress(what: string, total: number): Progress;
}

const redrawMs = 100;

export function openTerminal(isJson: boolean, { stdin, stdout, stderr } = process): Terminal {
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  const say = (line = '') => {
    if (!isJson) stdout.write(`${line}\n`);
  };
  const style = (format: Style, text: string) => styleText(format, text, { stream: stdout });

  async function prompt(question: string, output: NodeJS.WritableStream): Promise<string> {
    if (!isInteractive)
      throw usageFailure(`There is no terminal to ask on: ${question.trim()} Give the answer as an option; --help lists them.`);
    const reader = createInterface({ input: stdin, output, terminal: true });
    const stopped = new AbortController();
    // Ctrl-C and Ctrl-D end the reader without an answer
    reader.once('close', () => stopped.abort());
    try {
      return await reader.question(output === stderr ? question : '', { signal: stopped.signal });
    } catch (cause) {
      stderr.write('\n');
      throw new CliFailure('interrupted', 'Stopped.', { cause });
    } finally {
      reader.close();
    }
  }

  const json = (result: unknown) => {
    if (isJson) stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  };
  const table = (rows: readonly (readonly string[])[]) => {
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const row of rows)
      say(row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '));
  };
  const confirm = async (question: string) => /^y(es)?$/i.test((await prompt(`${question} [y/N] `, stderr)).trim());

  return {
    isJson,
    isInteractive,
    say,
    style,
    remark: (line) => void stderr.write(`${line}\n`),
    json,
    result: (result, line) => (isJson ? json(result) : say(line)),
    record: (record) => {
      table(Object.entries(record).map(([name, value]) => [style('dim', name), typeof value === 'string' ? value : JSON.stringify(value)]));
      json(record);
    },
    table,
    ask: (question) => prompt(question, stderr),
    async askSecret(question) {
      stderr.write(question);
      const answer = await prompt(question, new Writable({ write: (_, __, done) => done() }));
      stderr.write('\n');
      return answer;
    },
    confirm,
    async requireConfirmation(question, isSure) {
      if (isSure) return;
      if (!isInteractive) throw usageFailure(`${question} There is no terminal to ask on; give --yes.`);
      if (!(await confirm(question))) throw new CliFailure('failure', 'Nothing was changed.');
    },
    progress(what, total) {
      let done = 0;
      let drawnMs = 0;
      const startedMs = performance.now();
      const draw = () => {
        const seconds = (performance.now() - startedMs) / 1000;
        const left = done > 0 ? `, ${Math.ceil(((total - done) * seconds) / done)} s left` : '';
        stderr.write(`\r\x1b[K${what}: ${done} of ${total}${done < total ? left : ''}`);
        drawnMs = performance.now();
      };
      return {
        step() {
          done++;
          if (stderr.isTTY && performance.now() - drawnMs > redrawMs) draw();
        },
        end() {
          if (stderr.isTTY) stderr.write('\r\x1b[K');
        },
      };
    },
  };
}
