import * as z from 'zod';
import type { Api } from './gateway.ts';
import { resourcesOf, type Template } from './template.ts';

export interface Schedule {
  functionId: string;
  everyMs: number;
}

const minuteMs = 60_000;
const unitMs: Record<string, number> = { minute: minuteMs, hour: 60 * minuteMs, day: 24 * 60 * minuteMs };

const everyMs = z
  .string()
  .optional()
  .transform((expression, context) => {
    if (expression === undefined) return undefined;
    const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
    const unitLengthMs = unitMs[unit];
    if (unitLengthMs !== undefined) return Number(count) * unitLengthMs;
    context.addIssue('the local stack knows schedules of the form rate(<count> <unit>) only');
    return z.NEVER;
  });

const ruleProperties = z.object({
  ScheduleExpression: everyMs,
  Targets: z.array(z.object({ Arn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }) })),
});

/** The functions that the rules of a template run on a schedule. Rules for events of AWS have no counterpart here. */
export const readSchedules = (template: Template): Schedule[] =>
  resourcesOf(template, 'AWS::Events::Rule', ruleProperties).flatMap(([, { ScheduleExpression, Targets }]) =>
    ScheduleExpression === undefined ? [] : Targets.map(({ Arn }) => ({ functionId: Arn['Fn::GetAtt'][0], everyMs: ScheduleExpression })),
  );

/** Runs them, as EventBridge does. A failed run appears in the function's log only. */
export function startSchedules(schedules: Schedule[], invoke: Api['invoke']): { stop(): Promise<void> } {
  const timers = schedules.map(({ functionId, everyMs }) => setInterval(() => invoke(functionId, {}).catch(() => {}), everyMs));
  return {
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
