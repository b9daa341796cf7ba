import * as z from 'zod';
import type { Api } from './gateway.ts';
import { resourcesOf, type Template } from './template.ts';

const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

const everyMs = z.string().transform((expression) => {
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  if (count === undefined)
    throw new TypeError(`the local stack supports only schedules of the form rate(<count> <unit>), not ${expression}`);
  return Number(count) * (unitMs[unit] ?? 0);
});

const ruleProperties = z.object({
  ScheduleExpression: everyMs.optional(),
  Targets: z.array(z.object({ Arn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }) })),
});

/** The scheduled functions of a template. Rules for AWS events are ignored. */
export const readSchedules = (template: Template) =>
  resourcesOf(template, 'AWS::Events::Rule', ruleProperties).flatMap(([, { ScheduleExpression, Targets }]) =>
    ScheduleExpression === undefined ? [] : Targets.map(({ Arn }) => ({ functionId: Arn['Fn::GetAtt'][0], everyMs: ScheduleExpression })),
  );

/**
 * Runs scheduled functions as EventBridge does. Failed runs appear only in the function's log.
 * @returns a function that stops the schedules
 */
export function startSchedules(schedules: ReturnType<typeof readSchedules>, invoke: Api['invoke']): () => void {
  const timers = schedules.map(({ functionId, everyMs }) => setInterval(() => invoke(functionId, {}).catch(() => {}), everyMs));
  return () => timers.forEach(clearInterval);
}
