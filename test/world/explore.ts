import { AsyncLocalStorage } from 'node:async_hooks';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import type { Key } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { keyOf, type MemoryTable, openMemoryTable } from './memory-table.ts';

/** What may go wrong in one schedule, how often at most. */
export interface Budget {
  /** answers of the table that are lost, before or after the effect, and requests that are delivered twice */
  faults?: number;
  /** callers whose process dies */
  crashes?: number;
  /** clocks that jump ahead by {@link clockStepMs} */
  clockSteps?: number;
  /** writes that reach the table after their caller was told that they had failed, or reach it once more after their caller was answered */
  stragglers?: number;
}

/** How one caller sees the world: all that it does through these waits until the scheduler picks it. */
export interface Caller {
  table: Table;
  /**
   * Anything else, for example a call of an upstream.
   * @param options - `failure`: what its caller is told if the answer is lost; without it, the answer never is. `isUnseen`: it changes nothing
   */
  act<T>(name: string, effect: () => T | Promise<T>, options?: { failure?: (variant: Failure) => Error; isUnseen?: true }): Promise<T>;
}

export type Outcome = { value: unknown } | { error: unknown } | 'crashed';

/** What a play came to. */
export interface End {
  outcomes: Outcome[];
  table: MemoryTable;
  /** nothing went wrong that a caller has to notice */
  isUndisturbed: boolean;
  /** no operation was lost or repeated, and nobody died */
  isFaultless: boolean;
  /** what took effect, in order */
  log: { caller: number; label: string }[];
}

export interface Cast {
  callers: ((caller: Caller) => Promise<unknown>)[];
  /** @throws if a promise was broken */
  check(end: End): void | Promise<void>;
}

export interface Scenario {
  name: string;
  /** what has to hold in every schedule */
  promise: string;
  budget: Budget;
  /** when the world begins, in milliseconds since the epoch */
  startMs?: number;
  /** how many items a query returns at most */
  pageSize?: number;
  /** Prepares a world, unscheduled. Everything must follow from what the callers do, so that schedules can be played again. */
  prepare(table: MemoryTable): Promise<Cast>;
}

export interface Exploration {
  /** schedules that were played to their end */
  schedules: number;
  /** schedules that were left because an equivalent one had been played */
  pruned: number;
  /** longest schedule, in operations */
  longest: number;
  isComplete: boolean;
  violation?: { message: string; script: string };
}

export const clockStepMs = 5_000;

/** How long a caller waits before it tries again what another one came before. */
const pauseMs = 500;

/** When a world begins. */
export const usualStartMs = Date.UTC(2030, 0, 1, 12);

/** A caller that takes more steps than this does not end. */
const maxSteps = 1_000;

const clocks = new AsyncLocalStorage<{ offsetMs: number }>();
const real = { now: Date.now, performanceNow: performance.now };

type Touch = { key: string; writes: boolean };

interface Pending {
  caller: number;
  /** which of the caller's operations it is */
  at: number;
  label: string;
  touches: Touch[];
  /** it took effect before, and its answer was lost, so that the client of the table sends it once more */
  isRepeated?: true;
  /** nobody waits for it any more */
  isStraggling?: true;
  /** what the caller is told if the answer is lost; without it, the answer never is */
  failure?: ((variant: Failure) => Error) | undefined;
  effect(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** How an operation fails: after its effect, without it, or before an effect that is still to come. */
export type Failure = 'lost' | 'dropped' | 'slow';

type Variant = 'done' | 'again' | 'late' | Failure | 'crash' | 'clock';

/** One thing that may happen next. Its id means the same in every play of a schedule. */
interface Transition {
  id: string;
  caller: number;
  variant: Variant;
  label: string;
  touches: Touch[];
  pending?: Pending;
}

interface Node {
  options: Transition[];
  chosen: number;
  /** ids of those that were explored from an equivalent state already */
  sleep: Set<string>;
}

const isFault = ({ variant }: Transition): boolean => variant !== 'done';

/** Whether two transitions lead to the same state in either order. A query touches its whole partition. */
function areIndependent(left: Transition, right: Transition): boolean {
  if (left.caller === right.caller || (isFault(left) && isFault(right))) return false;
  return !left.touches.some((one) => right.touches.some((other) => (one.writes || other.writes) && meet(one.key, other.key)));
}

const meet = (left: string, right: string): boolean =>
  left === right || (left.endsWith('\n') && right.startsWith(left)) || (right.endsWith('\n') && left.startsWith(right));

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

const unreachable = (): Error => unavailable('The answer was lost.');

/** One play of a scenario. */
class Play {
  readonly #outcomes: (Outcome | undefined)[];
  readonly #pending: Pending[] = [];
  readonly #issued: number[];
  readonly #clocks: { offsetMs: number }[];
  #left: Required<Budget>;
  #isUndisturbed = true;
  #isFaultless = true;
  readonly #base: MemoryTable;
  readonly #log: End['log'] = [];

  constructor(base: MemoryTable, callers: Cast['callers'], { faults = 0, crashes = 0, clockSteps = 0, stragglers = 0 }: Budget) {
    this.#base = base;
    this.#left = { faults, crashes, clockSteps, stragglers };
    this.#outcomes = callers.map(() => undefined);
    this.#issued = callers.map(() => 0);
    this.#clocks = callers.map(() => ({ offsetMs: 0 }));
    callers.forEach((act, caller) => {
      clocks.run(this.#clocks[caller] as { offsetMs: number }, () =>
        act(this.#viewOf(caller)).then(
          (value) => this.#end(caller, { value }),
          (error: unknown) => this.#end(caller, { error }),
        ),
      );
    });
  }

  get end(): End {
    return {
      outcomes: this.#outcomes.map((outcome) => outcome ?? 'crashed'),
      table: this.#base,
      isUndisturbed: this.#isUndisturbed,
      isFaultless: this.#isFaultless,
      log: this.#log,
    };
  }

  #end(caller: number, outcome: Outcome): void {
    this.#outcomes[caller] ??= outcome;
  }

  #step<T>(caller: number, label: string, touches: Touch[], effect: () => Promise<T>, failure?: Pending['failure']): Promise<T> {
    const at = this.#issued[caller] ?? 0;
    this.#issued[caller] = at + 1;
    if (at > maxSteps) throw new Error(`caller ${caller} does not end`);
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ caller, at, label, touches, effect, failure, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  #viewOf(caller: number): Caller {
    const base = this.#base;
    const one = <T>(verb: string, key: Key, writes: boolean, effect: () => Promise<T>) =>
      this.#step(caller, `${verb} ${key.pk} ${key.sk}`, [{ key: nameOf(key), writes }], effect, unreachable);
    const get: Table['get'] = (key) => one('get', key, false, () => base.get(key));
    return {
      table: {
        get,
        // a batch is no snapshot: its items are read one by one, each of them once
        getAll: async <T extends Record<string, unknown>>(keys: Key[]) => {
          const reads = new Map(keys.map((key) => [nameOf(key), key]));
          const items = new Map(await Promise.all([...reads].map(async ([name, key]) => [name, await get<T>(key)] as const)));
          return keys.map((key) => items.get(nameOf(key)));
        },
        query: (pk, input) =>
          this.#step(caller, `query ${pk}`, [{ key: `${pk}\n`, writes: false }], () => base.query(pk, input), unreachable),
        put: (item, condition) => one('put', item, true, () => base.put(item, condition)),
        update: (key, input) => one('update', key, true, () => base.update(key, input)),
        delete: (key, condition) => one('delete', key, true, () => base.delete(key, condition)),
        // as a batch, its writes are made one by one
        writeAll: async (writes) => {
          await Promise.all(
            writes.map((write) =>
              'put' in write
                ? one('put', write.put, true, () => base.put(write.put))
                : one('delete', write.delete, true, () => base.delete(write.delete)),
            ),
          );
        },
        transact: (writes, token) => {
          // sent again by the client of the table, it has the same token
          const sameToken = token ?? `${caller}.${this.#issued[caller]}`;
          const touches = writes.map((write) => ({ key: nameOf(keyOf(write)), writes: !('check' in write) }));
          return this.#step(caller, `transact ${touches.length}`, touches, () => base.transact(writes, sameToken), unreachable);
        },
        // so that whoever tries in vain again and again ends
        pause: async () => {
          const clock = this.#clocks[caller];
          if (clock) clock.offsetMs += pauseMs;
        },
      },
      act: (name, effect, { failure, isUnseen } = {}) =>
        this.#step(caller, name, isUnseen ? [] : [{ key: name, writes: true }], async () => effect(), failure),
    };
  }

  #isWaiting(caller: number): boolean {
    return this.#outcomes[caller] !== undefined || this.#pending.some((pending) => pending.caller === caller && !pending.isStraggling);
  }

  /** Until every caller has ended or waits for the scheduler. */
  async #settle(): Promise<void> {
    for (let turn = 0; ; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turn > 0 && this.#outcomes.every((_, caller) => this.#isWaiting(caller))) return;
      if (turn > 100_000) throw new Error('a caller waits for something that the scheduler does not control');
    }
  }

  async options(): Promise<Transition[]> {
    await this.#settle();
    const { faults, crashes, clockSteps, stragglers } = this.#left;
    const options = this.#pending.flatMap((pending) => {
      const { caller, at, label, touches, failure } = pending;
      const writes = touches.some((touch) => touch.writes);
      const isOfTable = failure === unreachable;
      const possible: Variant[] = ['done'];
      if (!pending.isStraggling) {
        if (faults > 0 && failure) possible.push('dropped');
        if (faults > 0 && failure && writes) possible.push('lost');
        if (faults > 0 && isOfTable && writes) possible.push('again');
        if (stragglers > 0 && failure && writes) possible.push('slow');
        if (stragglers > 0 && isOfTable && writes) possible.push('late');
        if (crashes > 0 && writes) possible.push('crash');
      }
      const state = pending.isStraggling ? ' straggling' : pending.isRepeated ? ' repeated' : '';
      return possible.map(
        (variant): Transition => ({
          id: `${caller}.${at}${state}${variant === 'done' ? '' : ` ${variant}`}`,
          caller,
          variant,
          label,
          touches: variant === 'crash' || variant === 'dropped' || variant === 'slow' ? [] : touches,
          pending,
        }),
      );
    });
    const running = [...new Set(this.#pending.filter(({ isStraggling }) => !isStraggling).map(({ caller }) => caller))];
    const steps =
      clockSteps > 0
        ? running.map((caller): Transition => ({ id: `${caller} clock`, caller, variant: 'clock', label: 'clock', touches: [] }))
        : [];
    return [...options, ...steps].sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  async take({ variant, caller, pending }: Transition): Promise<void> {
    if (variant !== 'done') this.#isFaultless = false;
    // a request that is delivered twice has to do what it does once
    if (variant !== 'done' && variant !== 'again' && variant !== 'late') this.#isUndisturbed = false;
    if (variant === 'clock') {
      const clock = this.#clocks[caller];
      if (clock) clock.offsetMs += clockStepMs;
      this.#left = { ...this.#left, clockSteps: this.#left.clockSteps - 1 };
      return;
    }
    if (variant === 'crash') {
      this.#left = { ...this.#left, crashes: this.#left.crashes - 1 };
      this.#outcomes[caller] = 'crashed';
      const left = this.#pending.filter((one) => one.caller !== caller || one.isStraggling);
      this.#pending.splice(0, this.#pending.length, ...left);
      return;
    }
    if (!pending) return;
    this.#pending.splice(this.#pending.indexOf(pending), 1);
    const { failure = unreachable } = pending;
    if (variant === 'slow' || variant === 'late') this.#left = { ...this.#left, stragglers: this.#left.stragglers - 1 };
    else if (variant !== 'done') this.#left = { ...this.#left, faults: this.#left.faults - 1 };
    if (variant === 'slow' || variant === 'late') this.#pending.push({ ...pending, isStraggling: true });
    if (variant === 'dropped' || variant === 'slow') return pending.reject(failure(variant));
    try {
      const value = await pending.effect();
      // a write whose conditions did not hold
      if (value !== false && !Array.isArray(value)) this.#log.push({ caller, label: pending.label });
      if (variant === 'lost') pending.reject(failure(variant));
      else if (variant === 'again') this.#pending.push({ ...pending, isRepeated: true });
      else pending.resolve(value);
    } catch (error) {
      pending.reject(error);
    }
  }
}

/**
 * Plays a scenario once; `choose` says what happens next, or that nothing more has to.
 * @returns how the promise was broken, if it was
 */
async function play(scenario: Scenario, choose: (options: Transition[]) => Transition | undefined): Promise<string | undefined> {
  const { startMs = usualStartMs } = scenario;
  const offsetMs = () => clocks.getStore()?.offsetMs ?? 0;
  Date.now = () => startMs + offsetMs();
  performance.now = offsetMs;
  try {
    const table = openMemoryTable(scenario.pageSize);
    const { callers, check } = await scenario.prepare(table);
    const current = new Play(table, callers, scenario.budget);
    for (;;) {
      const options = await current.options();
      if (options.length === 0) break;
      const chosen = choose(options);
      if (chosen === undefined) return undefined;
      await current.take(chosen);
    }
    await check(current.end);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    Date.now = real.now;
    performance.now = real.performanceNow;
  }
}

/**
 * Plays every schedule of a scenario that differs from the others in more than the order of independent operations (sleep sets).
 * @param isOver - is asked before each
 */
export async function exploreAll(scenario: Scenario, isOver: () => Promise<boolean> = async () => false): Promise<Exploration> {
  const path: Node[] = [];
  const found: Exploration = { schedules: 0, pruned: 0, longest: 0, isComplete: false };
  while (!(await isOver())) {
    let depth = 0;
    let isPruned = false;
    let taken: Transition | undefined;
    const message = await play(scenario, (options) => {
      let node = path[depth];
      if (node === undefined) {
        const asleep = path[depth - 1]?.sleep ?? new Set();
        // what they touch is asked of this play: ids of records, which are part of keys, differ from play to play
        const sleeping = options.filter((option) => asleep.has(option.id) && taken !== undefined && areIndependent(option, taken));
        const sleep = new Set(sleeping.map(({ id }) => id));
        node = { options: options.filter(({ id }) => !sleep.has(id)), chosen: 0, sleep };
        if (node.options.length === 0) {
          isPruned = true;
          return undefined;
        }
        path.push(node);
      }
      depth++;
      const { id } = node.options[node.chosen] as Transition;
      const chosen = options.find((option) => option.id === id);
      if (!chosen) throw new Error(`the world is not deterministic: ${id} was possible before`);
      taken = chosen;
      return chosen;
    });
    if (isPruned) found.pruned++;
    else found.schedules++;
    found.longest = Math.max(found.longest, depth);
    if (message !== undefined) {
      const script = path.slice(0, depth).map((node) => node.options[node.chosen] as Transition);
      return { ...found, violation: { message, script: script.map(({ id, label }) => `${id} (${label})`).join('\n') } };
    }
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const explored = last.options[last.chosen] as Transition;
      last.sleep.add(explored.id);
      last.chosen++;
      if (last.chosen < last.options.length) break;
      path.pop();
    }
    if (path.length === 0) return { ...found, isComplete: true };
  }
  return found;
}

/** Plays one schedule again: the lines of a violation's script. */
export async function replay(scenario: Scenario, script: string): Promise<string | undefined> {
  const ids = script.split('\n').map((line) => line.replace(/ \(.*$/, ''));
  let at = 0;
  return play(scenario, (options) => {
    const wanted = ids[at++];
    return options.find(({ id }) => id === wanted) ?? options[0];
  });
}

/** How often a random schedule takes a fault where one is possible: seldom, so that faults come late as well as early. */
const faultShare = 0.07;

/** Of each random schedule, one operation comes last of all that it can: one of those that are possible after fewer steps than this. */
const heldWithin = 24;

/** Plays one schedule at random; `random` gives numbers from 0 to 1. */
export async function exploreOne(scenario: Scenario, random: () => number): Promise<Exploration['violation']> {
  const taken: Transition[] = [];
  const heldFrom = Math.floor(random() * heldWithin);
  let held: string | undefined;
  const message = await play(scenario, (all) => {
    if (taken.length === heldFrom) held = all[Math.floor(random() * all.length)]?.id;
    const others = all.filter(({ id }) => id !== held);
    const options = others.length > 0 ? others : all;
    const wantsFault = random() < faultShare;
    const wanted = options.filter((option) => isFault(option) === wantsFault);
    const among = wanted.length > 0 ? wanted : options;
    const chosen = among[Math.floor(random() * among.length)] as Transition;
    taken.push(chosen);
    return chosen;
  });
  return message === undefined ? undefined : { message, script: taken.map(({ id, label }) => `${id} (${label})`).join('\n') };
}
