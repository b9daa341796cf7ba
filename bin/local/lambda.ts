import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FunctionDefinition } from './template.ts';

export class LambdaTimeout extends Error {
  override readonly name = 'LambdaTimeout';
}

export class LambdaFailure extends Error {
  override readonly name = 'LambdaFailure';
}

/** Too many invocations are waiting, or this one has waited too long. */
export class LambdaThrottled extends Error {
  override readonly name = 'LambdaThrottled';
}

export interface LambdaOptions {
  /** maximum number of environments per function; further invocations wait. Default 6 */
  maxOfOne?: number;
  /** maximum number of environments, including those that are ending. Default 32 */
  maxOfAll?: number;
  /** maximum number of waiting invocations; further ones are refused. Default 400 */
  maxWaiting?: number;
  /** maximum wait, in milliseconds. Default 20 seconds */
  maxWaitMs?: number;
  /** idle time after which an environment ends, in milliseconds, if its function has another. Default 15 seconds */
  idleMs?: number;
  /** the same for a function's only environment, in milliseconds. Default 5 minutes */
  lastIdleMs?: number;
  /** parent of the environments' temporary folders, which go with them. Default: the system's */
  scratch?: string;
  /** cache of compiled code */
  compileCache?: string;
  /** receives each log line of a function, and the id of its environment */
  onLog?(line: string, functionName: string, environment: string): void;
}

type Outcome = { result: string | undefined } | { failure: string };
/** New log text, and an outcome if there is one. */
type Message = { log: string } & (Outcome | { isReady?: true });

type Environment = ReturnType<typeof startEnvironment>;

interface Run {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

interface Waiting {
  definition: FunctionDefinition;
  resolve(environment: Environment): void;
}

/**
 * Opens a place that runs functions as Lambda does. An environment, here a thread, serves one invocation at a time and is used again; one that times out or
 * dies is replaced, one that is idle for long ends. If there is no room for another, the one that was idle longest makes room.
 */
export function openLambdas(options: LambdaOptions = {}) {
  const { maxOfOne = 6, maxOfAll = 32, maxWaiting = 400, maxWaitMs = 20_000, idleMs = 15_000, lastIdleMs = 300_000 } = options;
  const all = new Set<Environment>();
  /** longest idle first */
  const idleSinceMs = new Map<Environment, number>();
  const waiting: Waiting[] = [];
  /** takes environments whose threads can be started next */
  const next: Waiting[] = [];
  /** threads that have not ended, including those that are ending */
  let threads = 0;
  let isStopped = false;

  const forget = (environment: Environment) => {
    all.delete(environment);
    idleSinceMs.delete(environment);
  };
  const start = (definition: FunctionDefinition): Environment => {
    threads++;
    const environment = startEnvironment(definition, options, {
      onEnd: () => forget(environment),
      onExit: () => {
        threads--;
        fill();
      },
    });
    all.add(environment);
    return environment;
  };
  const retire = (environment: Environment) => {
    forget(environment);
    void environment.stop();
  };
  const environmentsOf = (name: string) => [...all].filter(({ functionName }) => functionName === name);

  const isNext = (name: string) => next.some(({ definition }) => definition.name === name);
  const isStarved = ({ definition: { name } }: Waiting) => environmentsOf(name).length === 0 && !isNext(name);

  /** Ends an environment to make room for what waits. */
  const makeRoom = (environment: Environment, entry: Waiting) => {
    withdraw(entry);
    next.push(entry);
    retire(environment);
  };
  /** @returns whether it was still waiting */
  const withdraw = (entry: Waiting): boolean => {
    const at = waiting.indexOf(entry);
    if (at >= 0) waiting.splice(at, 1);
    return at >= 0;
  };

  const acquire = (definition: FunctionDefinition): Environment | Promise<Environment> => {
    const own = environmentsOf(definition.name);
    const free = own.findLast((environment) => idleSinceMs.delete(environment));
    if (free) return free;
    if (own.length < maxOfOne && threads < maxOfAll) return start(definition);
    if (waiting.length >= maxWaiting) throw new LambdaThrottled(`${waiting.length} invocations wait already`);
    const { promise, resolve, reject } = Promise.withResolvers<Environment>();
    const entry: Waiting = { definition, resolve };
    const timer = setTimeout(() => {
      if (withdraw(entry)) reject(new LambdaThrottled(`no environment of ${definition.name} was free within ${maxWaitMs} ms`));
    }, maxWaitMs);
    waiting.push(entry);
    // Only the first environment of a function makes room for itself: else functions would take it from each other in turns.
    const [oldest] = isStarved(entry) ? idleSinceMs.keys() : [];
    if (oldest) makeRoom(oldest, entry);
    return promise.finally(() => clearTimeout(timer));
  };

  /** Continues with the function's next invocation, unless another function waits without an environment and this one has a second. */
  const release = (environment: Environment) => {
    const isServed = ({ definition }: Waiting) => definition.name === environment.functionName;
    const functions = new Set([...all].map(({ functionName }) => functionName));
    const mayYield = environmentsOf(environment.functionName).length !== 1 || functions.size === all.size;
    const entry = (mayYield && waiting.find(isStarved)) || waiting.find(isServed) || waiting.find(isStarved);
    if (!entry) {
      if (all.has(environment)) idleSinceMs.set(environment, performance.now());
      return;
    }
    // If its thread has ended, that has gone on with what waits.
    if (!all.has(environment)) return;
    if (!isServed(entry)) return makeRoom(environment, entry);
    withdraw(entry);
    entry.resolve(environment);
  };

  /** Starts environments for waiting invocations, as far as there is room. */
  const fill = (): void => {
    while (threads < maxOfAll && !isStopped) {
      const mayHaveAnother = ({ definition }: Waiting) => environmentsOf(definition.name).length < maxOfOne;
      const entry = next.shift() ?? waiting.find(isStarved) ?? waiting.find(mayHaveAnother);
      if (!entry) return;
      withdraw(entry);
      entry.resolve(start(entry.definition));
    }
  };

  const sweep = () => {
    for (const [environment, sinceMs] of idleSinceMs) {
      const mayIdleMs = environmentsOf(environment.functionName).length > 1 ? idleMs : lastIdleMs;
      if (performance.now() - sinceMs >= mayIdleMs) retire(environment);
    }
  };
  const sweeping = setInterval(sweep, Math.min(idleMs, lastIdleMs, 5_000)).unref();

  return {
    /**
     * @returns what the function returned, as JSON; undefined if it returned nothing
     * @throws LambdaTimeout, LambdaFailure, LambdaThrottled
     */
    async invoke(definition: FunctionDefinition, event: unknown): Promise<string | undefined> {
      const environment = await acquire(definition);
      try {
        return await environment.run(event);
      } finally {
        release(environment);
      }
    },
    stop: async () => {
      isStopped = true;
      clearInterval(sweeping);
      await Promise.all([...all].map((environment) => environment.stop()));
    },
  };
}

/** Maximum size of the young generation per environment, in megabytes: more makes threads large without making them faster. */
const maxYoungGenerationSizeMb = 8;

function startEnvironment(
  { name, folder, handler, environment, timeoutMs, memoryMb }: FunctionDefinition,
  { scratch = tmpdir(), compileCache, onLog = () => {} }: LambdaOptions,
  { onEnd, onExit }: { onEnd(): void; onExit(): void },
) {
  const temporary = mkdtempSync(join(scratch, 'environment-'));
  const worker = new Worker(fileURLToPath(new URL('./lambda-worker.js', import.meta.url)), {
    workerData: { folder, handler, functionName: name, memoryMb, timeoutMs, compileCache },
    env: { ...environment, AWS_LAMBDA_FUNCTION_NAME: name, TMPDIR: temporary },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb },
  });
  const logLines = (text: string) => {
    for (const line of text.replace(/\n$/, '').split('\n')) onLog(line, name, basename(temporary));
  };
  let running: Run | undefined;
  worker.on('message', (message: Message) => {
    if (message.log) logLines(message.log);
    if ('result' in message || 'failure' in message) running?.resolve(message);
    // Loading does not count.
    else if (message.isReady) running?.timer.refresh();
  });
  worker.on('error', ({ message, stack }) => logLines(stack ?? message));
  worker.once('exit', () => {
    onEnd();
    rmSync(temporary, { recursive: true, force: true });
    running?.reject(new LambdaFailure(`an environment of ${name} ended`));
    onExit();
  });

  const run = async (event: unknown): Promise<string | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const timer = setTimeout(() => {
      onEnd();
      reject(new LambdaTimeout(`${name} ran longer than ${timeoutMs} ms`));
      void worker.terminate();
    }, timeoutMs);
    running = { resolve, reject, timer };
    worker.postMessage({ requestId: randomUUID(), event: JSON.stringify(event) });
    try {
      const outcome = await promise;
      if ('result' in outcome) return outcome.result;
      logLines(outcome.failure);
      throw new LambdaFailure(`${name} threw`);
    } finally {
      clearTimeout(timer);
      running = undefined;
    }
  };

  return {
    functionName: name,
    run,
    stop: () => worker.terminate(),
  };
}
