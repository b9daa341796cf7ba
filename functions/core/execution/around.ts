import type { JsonValue } from '../json/json.ts';
import type { Execution } from './execution.ts';
import type { Attempted } from './once.ts';
import type { ResolvedCall } from './resolve.ts';

/** What a feature does around the attempt of a call; it may add headers to the answer, and writes that are stored together with the outcome. */
export type Around = (execution: Execution, call: ResolvedCall, body: JsonValue, attempt: () => Promise<Attempted>) => Promise<Attempted>;

/** The first is the outermost. */
export const nest =
  (...all: readonly Around[]): Around =>
  (execution, call, body, attempt) =>
    all.reduceRight<() => Promise<Attempted>>((inner, around) => () => around(execution, call, body, inner), attempt)();
