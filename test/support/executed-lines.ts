import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import type { Executed } from '../../functions/core/activity/history.ts';
import { log } from '../../functions/core/runtime/log.ts';

export type ExecutedLine = Omit<Executed, 'at'>;

/** Watches for what executions in this process write to the log. */
export function watchExecuted() {
  const written = jest.spyOn(log, 'info');
  return {
    lines: () => written.mock.calls.flatMap(([message, line]) => (message === 'executed' ? (line as unknown as ExecutedLine) : [])),
    clear: () => written.mockClear(),
  };
}

/** An event as CloudWatch Logs passes it to a function. */
export const deliveryOf = (lines: readonly { at: number; message: string }[], messageType = 'DATA_MESSAGE') => ({
  awslogs: {
    data: gzipSync(
      JSON.stringify({
        messageType,
        owner: '000000000000',
        logGroup: 'group',
        logStream: 'stream',
        subscriptionFilters: ['filter'],
        logEvents: lines.map(({ at, message }, id) => ({ id: String(id).padStart(56, '0'), timestamp: at, message })),
      }),
    ).toString('base64'),
  },
});

/** The log line of an execution. */
export const lineOf = ({ at, ...executed }: Executed) => ({
  at,
  message: JSON.stringify({ level: 'INFO', message: 'executed', timestamp: new Date(at).toISOString(), ...executed }),
});
