import type { Execution } from './execution.ts';
import type { Attempted } from './once.ts';
import type { ResolvedCall } from './resolve.ts';

/**
 * What a feature does around the attempt of a call. It may replace the result, and add headers and writes. Under an idempotency key, both are
 * stored with the outcome. Without one, the writes are made before the answer, which has the headers only if that succeeds. Names of headers begin
 * with `Execution-`: later answers about the call have them, too, and results of MCP as `intent-gate/execution-...`.
 */
export type Around = (execution: Execution, call: ResolvedCall, attempt: () => Promise<Attempted>) => Promise<Attempted>;

/**
 * The first is the outermost. If one fails before the attempt has begun, the service cannot have acted: its error is the result. A later failure is a
 * fault of the gate, and never a refusal, which would say that the call may be repeated.
 */
export const nest =
  (...all: readonly Around[]): Around =>
  async (execution, call, attempt) => {
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      return attempt();
    };
    const run = all.reduceRight<() => Promise<Attempted>>((inner, around) => () => around(execution, call, inner), begin);
    try {
      return await run();
    } catch (error) {
      if (hasBegun) throw new Error('a feature failed after the attempt', { cause: error });
      return { mayHaveActed: false, result: error };
    }
  };
