import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import type { Api } from './gateway.ts';
import { account } from './json-service.ts';
import { resourcesOf, type Template } from './template.ts';

const reference = z.object({ Ref: z.string() }).transform(({ Ref }) => Ref);

/** Parses the only form of filter pattern in use. @returns a test for log lines */
const filterPattern = z.string().transform((pattern) => {
  const [, name = '', value] = /^\{ \$\.(\w+) = "([^"]*)" \}$/.exec(pattern) ?? [];
  if (value === undefined)
    throw new TypeError(`the local stack supports only filter patterns of the form { $.<name> = "<value>" }, not ${pattern}`);
  return (line: Record<string, unknown>): boolean => line[name] === value;
});

const filterProperties = z.object({
  LogGroupName: reference,
  DestinationArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }).transform((arn) => arn['Fn::GetAtt'][0]),
  FilterPattern: filterPattern,
});

const functionProperties = z.object({ LoggingConfig: z.object({ LogGroup: reference }) });

/** The subscriptions of functions to other functions' log lines in a template. */
export function readSubscriptions(template: Template) {
  const filters = resourcesOf(template, 'AWS::Logs::SubscriptionFilter', filterProperties);
  const functions = resourcesOf(template, 'AWS::Lambda::Function', functionProperties.partial());
  return filters.map(([name, { LogGroupName, DestinationArn, FilterPattern }]) => ({
    name,
    logGroup: LogGroupName,
    source: functions.find(([, { LoggingConfig }]) => LoggingConfig?.LogGroup === LogGroupName)?.[0],
    target: DestinationArn,
    isMatch: FilterPattern,
  }));
}

type Subscription = ReturnType<typeof readSubscriptions>[number];

interface LogEvent {
  id: string;
  timestamp: number;
  message: string;
}

/** Attempts that Lambda makes if a function fails. */
const attempts = 3;

/**
 * Delivers log lines in the format of CloudWatch Logs, as if each function had one log stream. Failed invocations are retried as by Lambda, but
 * sooner. A function that also has a schedule runs right after its batches, so that its results do not take a minute to appear.
 * @param scheduled - the functions that run on a schedule
 * @param everyMs - how long there must be no lines before a delivery, so that it does not delay calls, in milliseconds. After thirty times as long, lines
 *   are delivered anyway
 */
export function startSubscriptions(
  subscriptions: readonly Subscription[],
  scheduled: readonly string[],
  invoke: Api['invoke'],
  everyMs = 1_000,
) {
  let batches = new Map<Subscription, LogEvent[]>();
  let taken = 0;
  let firstMs = 0;
  let lastMs = 0;

  const persist = async (target: string, event: unknown): Promise<void> => {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      try {
        await invoke(target, event);
        return;
      } catch {
        await sleep(attempt < attempts ? attempt * everyMs : 0);
      }
    }
  };
  const deliver = async ([{ name, logGroup, target }, logEvents]: [Subscription, LogEvent[]]): Promise<void> => {
    const source = { owner: account, logGroup, logStream: 'local', subscriptionFilters: [name] };
    const batch = { messageType: 'DATA_MESSAGE', ...source, logEvents };
    await persist(target, { awslogs: { data: gzipSync(JSON.stringify(batch)).toString('base64') } });
  };
  const flush = async (): Promise<void> => {
    const passed = [...batches];
    batches = new Map();
    await Promise.all(passed.map(deliver));
    const targets = new Set(passed.map(([{ target }]) => target));
    await Promise.all(scheduled.filter((target) => targets.has(target)).map((target) => persist(target, {})));
  };
  let flushing = Promise.resolve();
  const flushNext = (): Promise<void> => {
    flushing = flushing.then(flush);
    return flushing;
  };
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (batches.size > 0 && (nowMs - lastMs >= everyMs || nowMs - firstMs >= 30 * everyMs)) void flushNext();
  }, everyMs / 4);

  return {
    take: (line: string, functionId: string): void => {
      for (const subscription of subscriptions) {
        const parsed = subscription.source === functionId ? parseLine(line) : undefined;
        if (!parsed || !subscription.isMatch(parsed)) continue;
        lastMs = performance.now();
        if (batches.size === 0) firstMs = lastMs;
        const batch = batches.get(subscription) ?? [];
        batches.set(subscription, batch);
        batch.push({ id: String(taken++).padStart(56, '0'), timestamp: Date.parse(String(parsed.timestamp)), message: line });
      }
    },
    /** Delivers what is pending, and stops. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      await flushNext();
    },
  };
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    return z.looseObject({}).safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
