import { expect, test } from '@jest/globals';
import { isLinearizable, type Model, type Operation } from './linearizable.ts';

/** A register that can be read, written, and swapped for another value if it holds the expected one. */
type Op = { read: number } | { write: number } | { expected: number; swap: number; ok: boolean };

const register: Model<number, Op> = {
  initial: 0,
  keyOf: String,
  step: (state, op) => {
    if ('read' in op) return op.read === state ? state : undefined;
    if ('write' in op) return op.write;
    return op.ok === (op.expected === state) ? (op.ok ? op.swap : state) : undefined;
  },
};

/** An operation from one moment to another; without the second its caller was told nothing. */
const op = (op: Op, invoked: number, returned = Number.POSITIVE_INFINITY): Operation<Op> => ({ op, invoked, returned });

test.each<[string, Operation<Op>[]]>([
  ['an empty history', []],
  ['a read of either value while it is written', [op({ write: 1 }, 0, 9), op({ read: 0 }, 1, 2), op({ read: 1 }, 3, 4)]],
  ['a write that was not answered and took effect late', [op({ write: 1 }, 0), op({ read: 0 }, 5, 6), op({ read: 1 }, 7, 8)]],
  ['a write that was not answered and never took effect', [op({ write: 1 }, 0), op({ read: 0 }, 5, 6)]],
  [
    'one of two swaps at once',
    [op({ expected: 0, swap: 1, ok: true }, 0, 9), op({ expected: 0, swap: 2, ok: false }, 0, 9), op({ read: 1 }, 10, 11)],
  ],
])('the checker accepts %s', (_, history) => {
  expect(isLinearizable(history, register)).toBe(true);
});

test.each<[string, Operation<Op>[]]>([
  ['a stale read', [op({ write: 1 }, 0, 1), op({ read: 0 }, 2, 3)]],
  ['a read that goes back', [op({ write: 1 }, 0, 9), op({ read: 1 }, 1, 2), op({ read: 0 }, 3, 4)]],
  ['a lost update', [op({ expected: 0, swap: 1, ok: true }, 0, 9), op({ expected: 0, swap: 2, ok: true }, 0, 9)]],
  ['a write that says that it failed and took effect', [op({ expected: 0, swap: 1, ok: false }, 0, 1), op({ read: 1 }, 2, 3)]],
  [
    'a write that was not answered and came twice',
    [op({ write: 1 }, 0), op({ read: 1 }, 1, 2), op({ write: 2 }, 3, 4), op({ read: 1 }, 5, 6)],
  ],
  ['a value that nobody wrote', [op({ read: 7 }, 0, 1)]],
])('the checker refuses %s', (_, history) => {
  expect(isLinearizable(history, register)).toBe(false);
});
