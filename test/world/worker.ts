/** A process that plays scenarios and trials for {@link ./lane.ts}, over the code or over copies of it. */
import '../environment.js';
import type { Task } from './lane.ts';
import { loadCopy } from './plant.ts';
import { run } from './run.ts';

process.on('message', ({ id, name, change, ...options }: Task) => {
  const played = change ? loadCopy(change).then((copy) => copy.run(name, options)) : run(name, options);
  // what could not be tried is no broken promise: a condition would seem to be needed
  const failed = (error: unknown) => ({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  void played.then((result) => ({ result }), failed).then((end) => process.send?.({ id, ...end }));
});
