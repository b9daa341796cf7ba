import { seededRandom } from '../support/random.ts';
import { exploreAll } from './explore.ts';
import { scenarios } from './scenarios.ts';
import { trials } from './trials.ts';

/** What came of a scenario or a trial. */
export interface Result {
  /** schedules or cases */
  count: number;
  /** no schedule was left out */
  isComplete: boolean;
  violation?: { message: string; script: string };
}

/** Plays a scenario through its schedules, or a trial through its cases, until a promise is broken or so much time has passed. */
export async function run(name: string, { seconds, seed }: { seconds: number; seed: number }): Promise<Result> {
  const untilMs = performance.now() + seconds * 1_000;
  const isOver = () => performance.now() > untilMs;
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario) {
    const { schedules, isComplete, violation } = await exploreAll(scenario, isOver);
    return { count: schedules, isComplete, ...(violation && { violation }) };
  }
  const trial = trials.find((one) => one.name === name);
  if (!trial) throw new Error(`There is no scenario or trial called ${name}.`);
  const attempt = await trial.open();
  const random = seededRandom(seed);
  let count = 0;
  while (!isOver()) {
    count++;
    try {
      await attempt(random);
    } catch (error) {
      return { count, isComplete: false, violation: { message: (error as Error).message, script: `seed ${seed}, case ${count}` } };
    }
  }
  return { count, isComplete: false };
}
