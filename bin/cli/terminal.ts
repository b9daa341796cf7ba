import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { toPrintable, toPrintableJson } from '../../client/printable.ts';
import { CliFailure, usageFailure } from './failure.ts';

const redrawMs = 100;
const clearLine = '\r\x1b[K';

/** Stands for the escape character in our own colours until the rest of a line has been made printable. Nobody else can write it. */
const ownEscape = randomUUID();

type Format = Parameters<typeof styleText>[0];

/** A text in colour, to be part of a line. */
function colour(format: Format, text: string, stream: NodeJS.WritableStream): string {
  const [open = '', close = ''] = styleText(format, '|', { stream }).replaceAll('\x1b', ownEscape).split('|');
  return open + text + close;
}

/**
 * The only place in which texts are written to a terminal: whatever they contain, wherever it comes from, they cannot speak to it.
 * Colours are those of {@link style}.
 */
const print = (stream: NodeJS.WritableStream, text: string): void => void stream.write(toPrintable(text).replaceAll(ownEscape, '\x1b'));

/** Coloured if output goes to a terminal and NO_COLOR is not set. */
export const style = (format: Format, text: string): string => colour(format, text, process.stdout);

/** A line of results. */
export const printLine = (line = ''): void => print(process.stdout, `${line}\n`);

/** A line of errors, questions and progress. */
export const printRemark = (line: string): void => print(process.stderr, `${line}\n`);

/** A value for programs, on one line. */
export const printJson = (value: unknown): void => printLine(toPrintableJson(value));

/** How a command talks to people and programs. Results go to stdout; questions, progress and errors to stderr. */
export type Terminal = ReturnType<typeof openTerminal>;

export function openTerminal(isJson: boolean, { stdin, stdout, stderr } = process) {
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  /** A line for people; nothing if results are JSON. */
  const say = (line = '') => {
    if (!isJson) print(stdout, `${line}\n`);
  };
  /** Coloured if output goes to a terminal and NO_COLOR is not set. */
  const style = (format: Format, text: string) => colour(format, text, stdout);

  async function prompt(question: string, output: NodeJS.WritableStream): Promise<string> {
    if (!isInteractive)
      throw usageFailure(`There is no terminal to ask on: ${question.trim()} Give the answer as an option; --help lists them.`);
    const reader = createInterface({ input: stdin, output, terminal: true });
    const stopped = new AbortController();
    // Ctrl-C and Ctrl-D end the reader without an answer
    reader.once('close', () => stopped.abort());
    try {
      return await reader.question(output === stderr ? toPrintable(question) : '', { signal: stopped.signal });
    } catch (cause) {
      print(stderr, '\n');
      throw new CliFailure('interrupted', 'Stopped.', { cause });
    } finally {
      reader.close();
    }
  }

  /** The result for programs; nothing if results are for people. */
  const json = (result: unknown) => {
    if (isJson) print(stdout, `${toPrintableJson(result, 2)}\n`);
  };
  /** One of many results for programs, on a line of its own; nothing if results are for people. */
  const line = (result: unknown) => {
    if (isJson) print(stdout, `${toPrintableJson(result)}\n`);
  };
  /** Aligned columns. */
  const table = (rows: readonly (readonly string[])[]) => {
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const row of rows)
      say(
        row
          .map((cell, column) => cell.padEnd(column === row.length - 1 ? 0 : (widths[column] ?? 0)))
          .join('  ')
          .trimEnd(),
      );
  };
  const confirm = async (question: string) => /^y(es)?$/i.test((await prompt(`${question} [y/N] `, stderr)).trim());

  return {
    isJson,
    /** whether there is a person to ask */
    isInteractive,
    say,
    style,
    /** A remark for people beside the result, on stderr. */
    remark: (line: string) => print(stderr, `${line}\n`),
    json,
    line,
    /** The result for programs, or this line for people. */
    result: (result: unknown, line: string) => (isJson ? json(result) : say(line)),
    /** A record as names and values. */
    record(record: Record<string, unknown>) {
      table(
        Object.entries(record).map(([name, value]) => [style('dim', name), typeof value === 'string' ? value : toPrintableJson(value)]),
      );
      json(record);
    },
    table,
    ask: (question: string) => prompt(question, stderr),
    async askSecret(question: string) {
      print(stderr, question);
      const answer = await prompt(question, new Writable({ write: (_, __, done) => done() }));
      print(stderr, '\n');
      return answer;
    },
    confirm,
    /**
     * Asks before something is lost, unless the person is sure (`--yes`).
     * @throws CliFailure if the answer is no, or if there is no terminal to ask on
     */
    async requireConfirmation(question: string, isSure: boolean | undefined) {
      if (isSure) return;
      if (!isInteractive) throw usageFailure(`${question} There is no terminal to ask on; give --yes.`);
      if (!(await confirm(question))) throw new CliFailure('failure', 'Nothing was changed.');
    },
    /** Until `end`, the first Ctrl-C does not end the program, which then has to stop by itself; a second one does. */
    watchInterrupt() {
      let isInterrupted = false;
      const interrupt = () => {
        isInterrupted = true;
        if (stderr.isTTY) stderr.write(clearLine);
        print(stderr, 'Finishing what has been begun. Press Ctrl-C again to stop at once.\n');
      };
      process.once('SIGINT', interrupt);
      return { isInterrupted: () => isInterrupted, end: () => void process.off('SIGINT', interrupt) };
    },
    /** A progress counter on one line; nothing if output does not go to a terminal. */
    progress(what: string, total: number) {
      let done = 0;
      let drawnMs = 0;
      const startedMs = performance.now();
      const draw = () => {
        const seconds = (performance.now() - startedMs) / 1000;
        const left = done > 0 ? `, ${Math.ceil(((total - done) * seconds) / done)} s left` : '';
        stderr.write(clearLine);
        print(stderr, `${what}: ${done} of ${total}${done < total ? left : ''}`);
        drawnMs = performance.now();
      };
      return {
        /** One more is done. */
        step() {
          done++;
          if (stderr.isTTY && performance.now() - drawnMs > redrawMs) draw();
        },
        /** Clears the line. */
        end() {
          if (stderr.isTTY) stderr.write(clearLine);
        },
      };
    },
  };
}
