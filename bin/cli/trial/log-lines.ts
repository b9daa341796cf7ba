import * as z from 'zod';
import { readText } from '../../../registry/input.ts';
import { type RecordedExecution, recordedExecution } from '../../../schemas/executions.ts';

/** An `executed` log line with the time when it was written. */
const logLine = recordedExecution.extend({ message: z.literal('executed'), timestamp: z.iso.datetime() });

/** The `executed` log lines anywhere in a value, because each export of CloudWatch Logs wraps them differently, as objects or as text. */
function* linesIn(value: unknown): Generator<object> {
  if (typeof value === 'string') {
    // a line that cannot be parsed is counted as malformed
    if (/"executed\\*"/.test(value)) yield* linesIn(parseAfterPrefix(value) ?? { message: 'executed' });
  } else if (typeof value === 'object' && value !== null) {
    if ('message' in value && value.message === 'executed') yield value;
    else for (const one of Object.values(value)) yield* linesIn(one);
  }
}

const parseAfterPrefix = (line: string): unknown => parse(line.slice(Math.max(0, line.indexOf('{'))));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The executions in a log file: JSON lines, or JSON exports of `aws logs` or Logs Insights. Skips other lines and duplicates.
 * @returns malformed - number of `executed` lines that cannot be parsed
 * @throws CliFailure if the file cannot be read
 */
export async function readLogFile(file: string): Promise<{ executions: RecordedExecution[]; malformed: number }> {
  const found = new Map<string, RecordedExecution>();
  const text = await readText(file);
  let malformed = 0;
  for (const line of linesIn(parse(text) ?? text.split('\n'))) {
    const { success, data } = logLine.safeParse(line);
    if (success) found.set(data.execution_id, { ...data, started_at: data.started_at ?? data.timestamp });
    else malformed++;
  }
  return { executions: [...found.values()], malformed };
}
