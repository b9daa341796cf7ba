let engine: unknown;

/** Loads the pattern engine, which is not needed until an intent has a pattern. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= await import('re2js');
}

/** Replaces Node's `createRequire`. The only package that the gate's code loads late is the pattern engine. */
export const createRequire = () => (): unknown => {
  if (engine === undefined) throw new TypeError('The pattern engine is not loaded.');
  return engine;
};
