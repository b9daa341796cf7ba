import { currentTrace } from './trace.ts';

const levels = ['INFO', 'WARN', 'ERROR', 'SILENT'] as const;
const service = process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'intent-gate';

/** Writes one JSON object per line, bypassing the console, which the runtime wraps in another object. */
const writer =
  (level: (typeof levels)[number]) =>
  (message: string, members: Record<string, unknown> = {}) => {
    if (levels.indexOf(level) < (levels as readonly unknown[]).indexOf(process.env.LOG_LEVEL)) return;
    const [, xray] = /Root=([^;]+)/.exec(process.env._X_AMZN_TRACE_ID ?? '') ?? [];
    const trace = currentTrace();
    const line = {
      level,
      message,
      timestamp: new Date().toISOString(),
      service,
      ...(xray && { xray_trace_id: xray }),
      ...(trace && { trace_id: trace.traceId, span_id: trace.spanId }),
      ...members,
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  };

/** The log. It never contains what a caller sent: no bodies, headers, tokens or messages of third-party errors. */
export const log = { info: writer('INFO'), warn: writer('WARN'), error: writer('ERROR') };

/**
 * What may be logged about an error and each of its causes: name, AWS metadata and stack frames. Messages are left out, because they may quote input;
 * only a developer's local stack sets LOG_MESSAGES.
 */
export function describeCause(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { httpStatusCode, requestId } = (error as { $metadata?: { httpStatusCode?: number; requestId?: string } }).$metadata ?? {};
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name: error.name,
    ...(process.env.LOG_MESSAGES === 'true' && { message: error.message }),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...(httpStatusCode !== undefined && { aws_status: httpStatusCode, aws_request_id: requestId }),
    at: frames.slice(0, 6).map((frame) => frame.trim()),
    ...(error.cause !== undefined && { cause: describeCause(error.cause) }),
  };
}
