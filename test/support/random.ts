/** Numbers in [0, 1), the same ones for the same seed (SplitMix32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
}

/** Choices by numbers in [0, 1). */
export function chooseWith(random: () => number) {
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  return { below, pick };
}
