let engine: unknown;

/** Loads the engine of patterns, which the page does without until an intent has one. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= await import('re2js');
}

/** In place of Node's: the one package that the gate's code loads late is the engine of patterns. */
export const createRequire = () => (): unknown => {
  if (engine === undefined) throw new TypeError('the engine of patterns is not loaded');
  return engine;
};
