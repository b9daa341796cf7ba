/** A process that plays scenarios and trials for {@link ./lane.ts}, over the code or over copies of it. */
import '../environment.js';
import type { Task } from './lane.ts';
import { loadCopy } from './plant.ts';
import { type Result, run } from './run.ts';

process.on('message', ({ id, name, change, ...options }: Task) => {
  const played = change ? loadCopy(change).then((copy) => copy.run(name, options)) : run(name, options);
  const failed = (error: unknown): Result => ({
    count: 1,
    isComplete: false,
    violation: { message: error instanceof Error ? (error.stack ?? error.message) : String(error), script: '' },
  });
  void played.catch(failed).then((result) => process.send?.({ id, result }));
});
