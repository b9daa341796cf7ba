import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FunctionDefinition } from './template.ts';

/** The function's own time-out has passed. */
export class LambdaTimeout extends Error {
  override readonly name = 'LambdaTimeout';
}

/** The function threw, or its environment died. */
export class LambdaFailure extends Error {
  override readonly name = 'LambdaFailure';
}

export interface LambdaOptions {
  /** environments that run at the same time; further invocations wait. Default 4 */
  maxConcurrency?: number;
  /** gets each line that the function writes to its log */
  onLog?(line: string, functionName: string): void;
}

export interface Lambda {
  /** @throws LambdaTimeout, LambdaFailure */
  invoke(event: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** What goes to an environment, and what comes back. */
export interface Invocation {
  requestId: string;
  functionName: string;
  memoryMb: number;
  /** milliseconds since the epoch */
  deadlineMs: number;
  event: unknown;
}
export type Outcome = { result: unknown } | { failure: string };

interface Environment {
  run(event: unknown): Promise<unknown>;
  stop(): Promise<unknown>;
}

/**
 * Runs a function as Lambda does: an environment, here a thread, serves one invocation at a time and is used again; one that
 * times out or dies is replaced. The first invocation starts the first environment.
 */
export function openLambda(definition: FunctionDefinition, { maxConcurrency = 4, onLog = () => {} }: LambdaOptions = {}): Lambda {
  const all = new Set<Environment>();
  const idle: Environment[] = [];
  const waiting: ((environment: Environment) => void)[] = [];

  const start = (): Environment => {
    const environment = startEnvironment(definition, onLog, () => {
      all.delete(environment);
      if (idle.includes(environment)) idle.splice(idle.indexOf(environment), 1);
    });
    all.add(environment);
    return environment;
  };

  const acquire = (): Environment | Promise<Environment> => {
    const free = idle.pop();
    if (free) return free;
    if (all.size < maxConcurrency) return start();
    return new Promise((resolve) => waiting.push(resolve));
  };

  const release = (environment: Environment) => {
    const next = waiting.shift();
    if (next) next(all.has(environment) ? environment : start());
    else if (all.has(environment)) idle.push(environment);
  };

  return {
    async invoke(event) {
      const environment = await acquire();
      try {
        return await environment.run(event);
      } finally {
        release(environment);
      }
    },
    stop: async () => {
      await Promise.all([...all].map((environment) => environment.stop()));
    },
  };
}

function startEnvironment(
  { name, folder, handler, environment, timeoutMs, memoryMb }: FunctionDefinition,
  onLog: NonNullable<LambdaOptions['onLog']>,
  onEnd: () => void,
): Environment {
  const worker = new Worker(fileURLToPath(new URL('./lambda-worker.ts', import.meta.url)), {
    workerData: { folder, handler },
    env: { ...environment, AWS_LAMBDA_FUNCTION_NAME: name },
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  for (const stream of [worker.stdout, worker.stderr]) createInterface(stream).on('line', (line) => onLog(line, name));
  let fail: (error: Error) => void = () => {};
  worker.on('error', ({ message, stack }) => onLog(stack ?? message, name));
  worker.once('exit', () => {
    onEnd();
    fail(new LambdaFailure(`an environment of ${name} ended`));
  });

  const run = async (event: unknown): Promise<unknown> => {
    const invocation: Invocation = { requestId: randomUUID(), functionName: name, memoryMb, deadlineMs: Date.now() + timeoutMs, event };
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    fail = reject;
    const timer = setTimeout(() => {
      onEnd();
      reject(new LambdaTimeout(`${name} ran longer than ${timeoutMs} ms`));
      void worker.terminate();
    }, timeoutMs);
    worker.once('message', resolve);
    worker.postMessage(invocation);
    try {
      const outcome = await promise;
      if ('result' in outcome) return outcome.result;
      onLog(outcome.failure, name);
      throw new LambdaFailure(`${name} threw`);
    } finally {
      clearTimeout(timer);
      worker.off('message', resolve);
    }
  };

  return { run, stop: () => worker.terminate() };
}
