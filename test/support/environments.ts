import type { StackOptions } from '../../bin/local/stack.ts';

/** For requests to all endpoints in turns: with fewer environments than functions, most requests would begin with the start of one. */
export const oneOfEach: NonNullable<StackOptions['environments']> = { maxOfOne: 1, maxOfAll: 64, idleMs: 600_000 };
