/** An operation of a history. Times are of one clock for all callers. */
export interface Operation<T> {
  op: T;
  invoked: number;
  /** infinite if the caller was never told what came of it: then it took effect at any time since, or at none */
  returned: number;
}

/** What the object under test would do if it did one operation after the other. States are values: no step changes one. */
export interface Model<State, T> {
  initial: State;
  /** the state after an operation that ended as it says, or took effect if its caller was not told; undefined if it cannot have */
  step(state: State, op: T): State | undefined;
  /** the same for equal states alone */
  keyOf(state: State): string;
}

/**
 * Whether a history can be explained by operations that each took effect at one instant between invocation and return: the search of Wing and
 * Gong, which Lowe made fast by never looking twice at the same operations done and the same state that came of them.
 */
export function isLinearizable<State, T>(history: readonly Operation<T>[], { initial, step, keyOf }: Model<State, T>): boolean {
  const sorted = history.toSorted((a, b) => a.invoked - b.invoked);
  const told = sorted.reduce((set, { returned }, at) => (returned === Number.POSITIVE_INFINITY ? set : set | (1n << BigInt(at))), 0n);
  const seen = new Set<string>();
  const open: [done: bigint, state: State][] = [[0n, initial]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [done, state] = next;
    if ((done & told) === told) return true;
    const isLeft = (at: number) => (done & (1n << BigInt(at))) === 0n;
    // whatever was invoked after another had returned comes after it
    const firstReturn = Math.min(...sorted.filter((_, at) => isLeft(at)).map(({ returned }) => returned));
    for (const [at, { op, invoked }] of sorted.entries()) {
      if (invoked > firstReturn) break;
      const after = isLeft(at) ? step(state, op) : undefined;
      if (after === undefined) continue;
      const doneNow = done | (1n << BigInt(at));
      const key = `${doneNow} ${keyOf(after)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      open.push([doneNow, after]);
    }
  }
  return false;
}
