import { seededRandom } from '../support/random.ts';
import { observing } from './conditions.ts';
import { exploreAll, exploreOne, replay } from './explore.ts';
import { scenarios } from './scenarios.ts';
import { trials } from './trials.ts';

/** What came of a scenario or a trial. */
export interface Result {
  /** schedules or cases */
  count: number;
  /** no schedule was left out */
  isComplete: boolean;
  /** the ids of the conditions that its writes had */
  conditions: string[];
  violation?: { message: string; script: string };
}

/** Seconds of the processor that this process has used: on a machine that is busy with other things, as much is tried as on one that is not. */
function usedSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

export interface RunOptions {
  seconds: number;
  seed: number;
  /** of a scenario, the one schedule that is to be played */
  script?: string;
  /** the id of a condition to do without */
  omit?: string;
}

/** Plays a scenario through its schedules, or a trial through its cases, until a promise is broken or so many seconds of the processor are used. */
export async function run(name: string, { omit, ...options }: RunOptions): Promise<Result> {
  const { value, conditions } = await observing(() => runAll(name, options), omit);
  return { ...value, conditions };
}

async function runAll(name: string, { seconds, seed, script }: RunOptions): Promise<Omit<Result, 'conditions'>> {
  const until = usedSeconds() + seconds;
  const isOver = () => usedSeconds() > until;
  const random = seededRandom(seed);
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario && script !== undefined) {
    const message = await replay(scenario, script);
    return { count: 1, isComplete: false, ...(message !== undefined && { violation: { message, script } }) };
  }
  if (scenario) {
    let atRandom = 0;
    let broken: Result['violation'];
    // In order, schedules differ in their last steps first; at random, in all of them. They take turns, so that a seed finds the same on every machine.
    const { schedules, isComplete, violation } = await exploreAll(scenario, async () => {
      if (isOver()) return true;
      atRandom++;
      broken = await exploreOne(scenario, random);
      return broken !== undefined;
    });
    const found = violation ?? broken;
    return { count: schedules + atRandom, isComplete, ...(found && { violation: found }) };
  }
  const trial = trials.find((one) => one.name === name);
  if (!trial) throw new Error(`There is no scenario or trial called ${name}.`);
  const attempt = await trial.open();
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
