import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { toSourceLines } from './source-lines.ts';
import type { FunctionDefinition } from './template.ts';

export class LambdaTimeout extends Error {
  override readonly name = 'LambdaTimeout';
}

export class LambdaFailure extends Error {
  override readonly name = 'LambdaFailure';
}

/** Thrown if an invocation has waited too long for an environment. */
export class LambdaThrottled extends Error {
  override readonly name = 'LambdaThrottled';
}

export interface LambdaOptions {
  /** maximum number of environments per function. Default 6 */
  maxOfOne?: number;
  /** maximum number of environments, including those that are ending. Default 32 */
  maxOfAll?: number;
  /** maximum wait, in milliseconds. Default 20 seconds */
  maxWaitMs?: number;
  /** idle time after which the last environment of a function ends, in milliseconds. Default 5 minutes */
  idleMs?: number;
  /** idle time after which any other environment of it ends, in milliseconds. Default 10 seconds */
  spareMs?: number;
  /** parent of the environments' temporary folders, which are deleted with them. Default: the system's */
  scratch?: string;
  /** cache of compiled code */
  compileCache?: string;
  /** receives each log line of a function, with the function's name */
  onLog?(line: string, functionName: string): void;
}

type Outcome = { result: string | undefined } | { failure: string };

/** A worker's message: new log text, and an outcome if there is one. */
type Message = { log: string } & (Outcome | { isReady?: true });

type Environment = ReturnType<typeof startEnvironment>;

interface Run {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
  timers: NodeJS.Timeout[];
}

interface Waiting {
  definition: FunctionDefinition;
  /** whether it has waited for long */
  isLate: boolean;
  resolve(environment: Environment): void;
  reject(error: unknown): void;
}

/** Number of environments of a function that start at once. */
const eagerOfOne = 2;

/*
 * Further ones, which cost 40 MB each, start one after the other: once each of the others has run its invocation for `lastingMs`, as those that wait
 * for a slow service do, or for an invocation that has waited for `lateMs`. More environments would not make a busy processor faster.
 */
const lastingMs = 200;
const lateMs = 1_000;

/**
 * Runs functions as Lambda does. An environment, here a thread, serves one invocation at a time and is reused. Environments that time out or crash are
 * replaced, and idle ones end. Invocations are served in order of arrival.
 */
export function openLambdas(options: LambdaOptions = {}) {
  const { maxOfOne = 6, maxOfAll = 32, maxWaitMs = 20_000, idleMs = 300_000, spareMs = Math.min(idleMs, 10_000) } = options;
  const all = new Set<Environment>();
  /** longest idle first */
  const idleSinceMs = new Map<Environment, number>();
  const waiting = new Set<Waiting>();
  /** threads that have not exited, including those of environments that have ended */
  let threads = 0;
  let isStopped = false;

  const forget = (environment: Environment) => {
    all.delete(environment);
    idleSinceMs.delete(environment);
  };
  const start = (definition: FunctionDefinition): Environment => {
    const environment = startEnvironment(definition, options, {
      onLasting: () => dispatch(),
      onEnd: () => forget(environment),
      onExit: () => {
        threads--;
        dispatch();
      },
    });
    threads++;
    all.add(environment);
    return environment;
  };
  const retire = (environment: Environment) => {
    forget(environment);
    void environment.stop();
  };
  const environmentsOf = (name: string) => [...all].filter(({ functionName }) => functionName === name);

  const isWanted = ({ functionName }: Environment) => [...waiting].some(({ definition }) => definition.name === functionName);

  /** Assigns idle or new environments to waiting invocations. */
  const dispatch = (): void => {
    if (isStopped) return;
    let exiting = threads - all.size;
    const withoutEnvironment = new Set<string>();
    for (const entry of waiting) {
      const { definition, resolve, reject } = entry;
      if (withoutEnvironment.has(definition.name)) continue;
      const own = environmentsOf(definition.name);
      const isEnough =
        own.length >= eagerOfOne && own.some((environment) => !environment.isReady() || (!environment.isLasting() && !entry.isLate));
      const canStart = own.length < maxOfOne && threads < maxOfAll && !isEnough;
      const idle = own.findLast((environment) => idleSinceMs.delete(environment));
      if (idle || canStart) {
        waiting.delete(entry);
        try {
          resolve(idle ?? start(definition));
        } catch (error) {
          reject(error);
        }
        continue;
      }
      withoutEnvironment.add(definition.name);
      if (own.length >= maxOfOne || isEnough || exiting-- > 0) continue;
      // A second environment must not evict one that is about to be used, or functions would keep evicting each other's.
      const oldest = idleSinceMs.keys().find((environment) => own.length === 0 || !isWanted(environment));
      if (oldest) retire(oldest);
    }
  };

  /** @throws LambdaThrottled */
  const acquire = (definition: FunctionDefinition): Promise<Environment> => {
    const { promise, resolve, reject } = Promise.withResolvers<Environment>();
    const entry: Waiting = { definition, isLate: false, resolve, reject };
    waiting.add(entry);
    dispatch();
    if (!waiting.has(entry)) return promise;
    const late = setTimeout(() => {
      entry.isLate = true;
      dispatch();
    }, lateMs);
    const timer = setTimeout(() => {
      if (waiting.delete(entry)) reject(new LambdaThrottled(`no environment of ${definition.name} was free within ${maxWaitMs} ms`));
    }, maxWaitMs);
    return promise.finally(() => {
      clearTimeout(late);
      clearTimeout(timer);
    });
  };

  const release = (environment: Environment) => {
    if (all.has(environment)) idleSinceMs.set(environment, performance.now());
    dispatch();
  };

  const sweep = () => {
    for (const [environment, sinceMs] of idleSinceMs) {
      const maxMs = environmentsOf(environment.functionName).length > 1 ? spareMs : idleMs;
      if (performance.now() - sinceMs >= maxMs) retire(environment);
    }
  };
  const sweeping = setInterval(sweep, Math.min(spareMs, 5_000)).unref();

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
    endIdle: () => idleSinceMs.keys().forEach(retire),
    stop: async () => {
      isStopped = true;
      clearInterval(sweeping);
      for (const { definition, reject } of waiting) reject(new LambdaThrottled(`${definition.name} was not started: the stack stops`));
      await Promise.all([...all].map((environment) => environment.stop()));
    },
  };
}

/** Maximum size of the young generation per environment, in megabytes: more costs memory without making threads faster. */
const maxYoungGenerationSizeMb = 4;

function startEnvironment(
  { name, folder, handler, environment, timeoutMs, memoryMb }: FunctionDefinition,
  { scratch = tmpdir(), compileCache, onLog = () => {} }: LambdaOptions,
  { onLasting, onEnd, onExit }: { onLasting(): void; onEnd(): void; onExit(): void },
) {
  const temporary = mkdtempSync(join(scratch, 'environment-'));
  const worker = new Worker(fileURLToPath(new URL('./lambda-worker.js', import.meta.url)), {
    workerData: { folder, handler, functionName: name, memoryMb, timeoutMs, compileCache },
    env: { ...environment, AWS_LAMBDA_FUNCTION_NAME: name, TMPDIR: temporary },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb },
  });
  const logLines = (text: string) => {
    for (const line of toSourceLines(text).replace(/\n$/, '').split('\n')) onLog(line, name);
  };
  let running: Run | undefined;
  let isReady = false;
  let isLasting = false;
  worker.on('message', (message: Message) => {
    if (message.log) logLines(message.log);
    if ('result' in message || 'failure' in message) running?.resolve(message);
    // Loading the function does not count towards its timeout.
    else if (message.isReady) {
      isReady = true;
      for (const timer of running?.timers ?? []) timer.refresh();
    }
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
    const lasting = setTimeout(() => {
      isLasting = isReady;
      onLasting();
    }, lastingMs);
    running = { resolve, reject, timers: [timer, lasting] };
    worker.postMessage({ requestId: randomUUID(), event: JSON.stringify(event) });
    try {
      const outcome = await promise;
      if ('result' in outcome) return outcome.result;
      logLines(outcome.failure);
      throw new LambdaFailure(`${name} threw`);
    } finally {
      clearTimeout(timer);
      clearTimeout(lasting);
      isLasting = false;
      running = undefined;
    }
  };

  return {
    functionName: name,
    isReady: () => isReady,
    /** whether it has run one invocation for a while */
    isLasting: () => isLasting,
    run,
    stop: () => worker.terminate(),
  };
}
