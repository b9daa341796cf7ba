import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { usageFailure } from '../../registry/failure.ts';
import { type RecordedExecution, recordedExecution } from '../../schemas/executions.ts';

/** An `executed` log line with the time when it was written. */
const logLine = recordedExecution.extend({ message: z.literal('executed'), timestamp: z.iso.datetime() });

/** The log lines in a value: the value itself, or lines wrapped in an export of CloudWatch Logs or Logs Insights. */
function* linesIn(value: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(value)) {
    const fields = value.map((one) => z.object({ field: z.string(), value: z.string() }).safeParse(one).data);
    const message = fields.find((one) => one?.field === '@message')?.value;
    if (message !== undefined) yield* linesIn(parse(message));
    else for (const one of value) yield* linesIn(one);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const { message, '@message': quoted = message, events, results, logEvents } = value as Record<string, unknown>;
  const inside = typeof quoted === 'string' && /^[^{]*\{/.test(quoted) ? parse(quoted) : undefined;
  if (inside !== undefined) yield* linesIn(inside);
  else if (message === 'executed') yield value as Record<string, unknown>;
  for (const list of [events, results, logEvents]) if (Array.isArray(list)) yield* linesIn(list);
}

/** Parses JSON after the prefix that `aws logs tail` and exports to S3 put before each line. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text.slice(Math.max(0, text.indexOf('{'))));
  } catch {
    return undefined;
  }
}

function parseFile(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.split('\n').map((line) => parse(line) ?? (line.includes('"executed"') ? { message: 'executed' } : undefined));
  }
}

/**
 * The executions in a log file: JSON lines, or JSON exports of `aws logs` or Logs Insights. Skips other lines and duplicates.
 * @returns malformed - number of `executed` lines that cannot be parsed
 * @throws CliFailure if the file cannot be read
 */
export function readLogFile(file: string): { executions: RecordedExecution[]; malformed: number } {
  const found = new Map<string, RecordedExecution>();
  let malformed = 0;
  for (const line of linesIn(parseFile(read(file)))) {
    const { success, data } = logLine.safeParse(line);
    if (success) found.set(data.execution_id, { ...data, started_at: data.started_at ?? data.timestamp });
    else malformed++;
  }
  return { executions: [...found.values()], malformed };
}

function read(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw usageFailure(`The file ${file} cannot be read.`);
  }
}
