import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Change } from './plant.ts';
import type { Result } from './run.ts';

/** A scenario or trial to play. */
export interface Task {
  id: number;
  name: string;
  seconds: number;
  seed: number;
  /** plays it over a copy that differs from the code */
  change?: Change;
}

/** What is left of one copy of the code after another stays in memory, so a process ends after so many. */
const copiesOfOneProcess = 25;

/** A process that plays one scenario after the other. */
export function openLane() {
  let child: ChildProcess | undefined;
  let copies = 0;
  let id = 0;

  function start(): ChildProcess {
    copies = 0;
    return fork(new URL('./worker.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
  }

  return {
    async play(task: Omit<Task, 'id'>): Promise<Result> {
      if (task.change && ++copies > copiesOfOneProcess) {
        child?.kill();
        child = undefined;
      }
      child ??= start();
      child.send({ ...task, id: ++id });
      const [{ result }] = await once(child, 'message');
      return result;
    },
    close: () => child?.kill(),
  };
}

export type Lane = ReturnType<typeof openLane>;
