import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import type { Api } from './gateway.ts';
import { resourcesOf, type Template } from './template.ts';

const reference = z.object({ Ref: z.string() }).transform(({ Ref }) => Ref);

/** The only form of filter patterns in use. @returns whether a log line matches */
const filterPattern = z.string().transform((pattern) => {
  const [, name = '', value] = /^\{ \$\.(\w+) = "([^"]*)" \}$/.exec(pattern) ?? [];
  if (value === undefined)
    throw new TypeError(`the local stack knows filter patterns of the form { $.<name> = "<value>" } only, not ${pattern}`);
  return (line: Record<string, unknown>): boolean => line[name] === value;
});

const filterProperties = z.object({
  LogGroupName: reference,
  DestinationArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }).transform((arn) => arn['Fn::GetAtt'][0]),
  FilterPattern: filterPattern,
});

const functionProperties = z.object({ LoggingConfig: z.object({ LogGroup: reference }) });

/** The log lines that a template passes to other functions. */
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

/** Lambda's retries of a failing function. */
const attempts = 3;

interface Batch {
  subscription: Subscription;
  logStream: string;
  logEvents: LogEvent[];
}

/**
 * Passes on lines of logs as CloudWatch Logs does, a batch for each log stream. An invocation that fails is repeated as Lambda repeats it, but sooner. A
 * function that also runs on a schedule runs right after its batches, so that nobody waits a minute for what it makes of them.
 * @param scheduled - the functions that run on a schedule
 * @param everyMs - how often batches are passed on, in milliseconds
 */
export function startSubscriptions(
  subscriptions: readonly Subscription[],
  scheduled: readonly string[],
  invoke: Api['invoke'],
  everyMs = 1_000,
) {
  let batches = new Map<string, Batch>();
  let taken = 0;

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
  const deliver = async ({ subscription, logStream, logEvents }: Batch): Promise<void> => {
    const { name, logGroup, target } = subscription;
    const batch = { messageType: 'DATA_MESSAGE', owner: '000000000000', logGroup, logStream, subscriptionFilters: [name], logEvents };
    await persist(target, { awslogs: { data: gzipSync(JSON.stringify(batch)).toString('base64') } });
  };
  const flush = async (): Promise<void> => {
    const passed = [...batches.values()];
    batches = new Map();
    await Promise.all(passed.map(deliver));
    const targets = new Set(passed.map(({ subscription }) => subscription.target));
    await Promise.all(scheduled.filter((target) => targets.has(target)).map((target) => persist(target, {})));
  };
  let flushing = Promise.resolve();
  const flushNext = (): Promise<void> => {
    flushing = flushing.then(flush);
    return flushing;
  };
  const timer = setInterval(flushNext, everyMs);

  return {
    /** @param environment - the source of the line: each has a log stream of its own */
    take: (line: string, functionId: string, environment: string): void => {
      for (const subscription of subscriptions) {
        const parsed = subscription.source === functionId ? parseLine(line) : undefined;
        if (!parsed || !subscription.isMatch(parsed)) continue;
        const key = `${subscription.name} ${environment}`;
        const batch = batches.get(key) ?? { subscription, logStream: environment, logEvents: [] };
        batches.set(key, batch);
        const timestamp = Date.parse(String(parsed.timestamp));
        batch.logEvents.push({ id: String(taken++).padStart(56, '0'), timestamp, message: line });
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
