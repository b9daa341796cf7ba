let engine: unknown;

/** Loads the pattern engine, which is not needed until an intent has a pattern. @throws Error, in words for users, if the gate does not answer */
export async function loadPatternEngine(): Promise<void> {
  engine ??= await import('re2js').catch((cause: unknown) => {
    throw new Error('A part of this page could not be loaded, so nothing was sent. Try again.', { cause });
  });
}

/** Replaces Node's `createRequire`. The only package that the gate's code loads late is the pattern engine. */
export const createRequire = () => (): unknown => {
  if (engine === undefined) throw new TypeError('The pattern engine is not loaded.');
  return engine;
};
