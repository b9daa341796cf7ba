import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Change } from './plant.ts';
import type { Result, RunOptions } from './run.ts';

/** A scenario or trial to play. */
export interface Task extends RunOptions {
  id: number;
  name: string;
  /** plays it over a copy that differs from the code */
  change?: Change;
}

/** What is left of one copy of the code after another stays in memory, so a process ends after so many. */
const copiesOfOneProcess = 60;

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
    /** @throws Error if it could not be played to its end */
    async play(task: Omit<Task, 'id'>): Promise<Result> {
      if (task.change && ++copies > copiesOfOneProcess) {
        child?.kill();
        child = undefined;
      }
      child ??= start();
      const player = child;
      player.send({ ...task, id: ++id });
      const ended = new AbortController();
      const { signal } = ended;
      try {
        return await Promise.race([
          once(player, 'message', { signal }).then(([{ result, failure }]) => {
            if (failure !== undefined) throw new Error(failure);
            return result;
          }),
          once(player, 'exit', { signal }).then(([code]) => {
            child = undefined;
            throw new Error(`the process that played "${task.name}" ended with ${code}`);
          }),
        ]);
      } finally {
        ended.abort();
      }
    },
    close: () => child?.kill(),
  };
}

export type Lane = ReturnType<typeof openLane>;
