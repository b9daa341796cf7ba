import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { toPrintable, toPrintableJson } from '../../client/printable.ts';
import { toCsv } from '../../registry/csv.ts';
import { CliFailure, usageFailure } from '../../registry/failure.ts';

const redrawMs = 100;
const clearLine = '\r\x1b[K';
const clearScreen = '\x1b[2J\x1b[H';
/** Pause between two screens of --watch, in milliseconds. */
const watchMs = 2_000;

/** An unguessable placeholder for ESC in our own colours until a line has been made printable. */
const ownEscape = randomUUID();

type Format = Parameters<typeof styleText>[0];

function colour(format: Format, text: string, stream: NodeJS.WritableStream): string {
  const [open = '', close = ''] = styleText(format, '|', { stream }).replaceAll('\x1b', ownEscape).split('|');
  return open + text + close;
}

/** All output passes through here, so that no text from elsewhere can control the terminal. */
const print = (stream: NodeJS.WritableStream, text: string): void => void stream.write(toPrintable(text).replaceAll(ownEscape, '\x1b'));

/** Formats text if stdout is a terminal and NO_COLOR is not set. */
export const style = (format: Format, text: string): string => colour(format, text, process.stdout);

/** Writes text to stdout as fast as it is read. If stdout fails, `bin/closed-pipe.js` decides what happens. */
export const writeOut = (content: Iterable<string> | AsyncIterable<string>): Promise<void> =>
  pipeline(content, process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall !== 'write') throw error;
  });

export const printLine = (line = ''): void => print(process.stdout, `${line}\n`);

/** Prints a line to stderr, for errors, questions and progress. */
export const printRemark = (line: string): void => print(process.stderr, `${line}\n`);

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Prints JSON on one line. */
export const printJson = (value: unknown): void => printLine(toPrintableJson(value));

/** Writes results to stdout; questions, progress and errors to stderr. */
export type Terminal = ReturnType<typeof openTerminal>;

/** @param format - of results; `text` is for people */
export function openTerminal(format: 'text' | 'json' | 'csv', { stdin, stdout, stderr } = process) {
  const isForPrograms = format !== 'text';
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  let isNewScreen = false;
  /** Prints a line to stdout, except with --json or --csv. */
  const say = (line = '') => {
    if (isForPrograms) return;
    if (isNewScreen) stdout.write(clearScreen);
    isNewScreen = false;
    print(stdout, `${line}\n`);
  };
  const style = (format: Format, text: string) => colour(format, text, stdout);

  async function prompt(question: string, output: NodeJS.WritableStream): Promise<string> {
    if (!isInteractive)
      throw usageFailure(`There is no terminal for a prompt: ${question.trim()} Use an option instead (run with --help for usage).`);
    const reader = createInterface({ input: stdin, output, terminal: true });
    const stopped = new AbortController();
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

  /** Prints the result, only with --json or --csv. */
  const json = (result: unknown) => {
    if (format === 'json') print(stdout, `${toPrintableJson(result, 2)}\n`);
    if (format === 'csv') print(stdout, toCsv([result].flat()));
  };
  const table = (rows: readonly (readonly string[])[]) => {
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    const width = widths.reduce((sum, one) => sum + one + 2, -2);
    const isTooWide = stdout.isTTY && width > (stdout.columns || 80);
    const align = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0);
    for (const row of rows) say(isTooWide ? row.filter(Boolean).join('\n  ') : row.map(align).join('  ').trimEnd());
  };
  const confirm = async (question: string) => /^y(es)?$/i.test((await prompt(`${question} [y/N] `, stderr)).trim());

  return {
    format,
    isInteractive,
    say,
    style,
    /** Prints a line to stderr. */
    remark: (line: string) => print(stderr, `${line}\n`),
    /** Says why nothing happens for a second or more. */
    remarkOnWait(ms: number, { message }: Error) {
      if (ms >= 1_000) print(stderr, `Waiting ${Math.ceil(ms / 1000)} s. ${message}\n`);
    },
    json,
    /** Prints the result with --json, else the line. */
    result: (result: unknown, line: string) => (isForPrograms ? json(result) : say(line)),
    record(record: Record<string, unknown>) {
      table(
        Object.entries(record).map(([name, value]) => [style('dim', name), typeof value === 'string' ? value : toPrintableJson(value)]),
      );
      json(record);
    },
    table,
    /** Prints a table with a heading, or with --json or --csv the records that it shows. */
    list(heads: readonly string[], rows: readonly (readonly string[])[], records: readonly unknown[]) {
      if (rows.length > 0) table([heads, ...rows]);
      json(records);
    },
    /** Prints lines below a title, unless there are none. */
    section(title: string, lines: readonly string[]) {
      if (lines.length > 0) say(title);
      for (const line of lines) say(`  ${line}`);
    },
    /** Does the work of a command, with --watch again and again until Ctrl-C or nobody reads it, each time on a new screen. */
    async watch(isWatched: true | undefined, work: () => Promise<void>) {
      if (!isWatched) return work();
      const stopped = new AbortController();
      stdout.once('error', () => stopped.abort());
      while (!stopped.signal.aborted) {
        isNewScreen = stdout.isTTY === true && process.env.TERM !== 'dumb';
        await work();
        await sleep(watchMs, undefined, { signal: stopped.signal }).catch(() => {});
      }
    },
    ask: (question: string) => prompt(question, stderr),
    async askSecret(question: string) {
      print(stderr, question);
      const answer = await prompt(question, new Writable({ write: (_, __, done) => done() }));
      print(stderr, '\n');
      return answer;
    },
    confirm,
    /**
     * Asks for confirmation unless `--yes` is given.
     * @throws CliFailure if the answer is no, or if there is no terminal
     */
    async requireConfirmation(question: string, isSure: boolean | undefined) {
      if (isSure) return;
      if (!isInteractive) throw usageFailure(`${question} There is no terminal for a confirmation; use --yes.`);
      if (!(await confirm(question))) throw new CliFailure('failure', 'Nothing was changed.');
    },
    /** Until `end`, the first Ctrl-C only sets a flag; a second one ends the program. */
    watchInterrupt() {
      let isInterrupted = false;
      const interrupt = () => {
        isInterrupted = true;
        if (stderr.isTTY) stderr.write(clearLine);
        print(stderr, 'Finishing the requests in progress. Press Ctrl-C again to stop immediately.\n');
      };
      process.once('SIGINT', interrupt);
      return { isInterrupted: () => isInterrupted, end: () => void process.off('SIGINT', interrupt) };
    },
    /** Shows a counter on one line if stderr is a terminal. */
    progress(what: string, total: number) {
      let done = 0;
      let drawnMs = 0;
      const startedMs = performance.now();
      return {
        step() {
          done++;
          const nowMs = performance.now();
          if (!stderr.isTTY || nowMs - drawnMs <= redrawMs) return;
          const seconds = (nowMs - startedMs) / 1000;
          const left = done < total ? `, ${Math.ceil(((total - done) * seconds) / done)} s left` : '';
          stderr.write(clearLine);
          print(stderr, `${what}: ${done} of ${total}${left}`);
          drawnMs = nowMs;
        },
        end() {
          if (stderr.isTTY) stderr.write(clearLine);
        },
      };
    },
  };
}
