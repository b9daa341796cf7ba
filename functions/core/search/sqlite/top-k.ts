const binCount = 1_024;

/**
 * Selects the indices of the k largest values in linear time, using a histogram. Returns at least k, unordered: values in the same bin as the
 * k-th are included, so equal values are selected together or not at all.
 */
export function selectTopK(values: Float32Array, k: number): number[] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < values.length; at++) {
    least = Math.min(least, values[at] as number);
    most = Math.max(most, values[at] as number);
  }
  const scale = (binCount - 1) / (most - least || 1);
  const binOf = (at: number) => Math.floor(((values[at] as number) - least) * scale);
  const bins = new Uint32Array(binCount);
  for (let at = 0; at < values.length; at++) (bins[binOf(at)] as number)++;
  let bin = binCount - 1;
  for (let found = bins[bin] as number; found < k && bin > 0; found += bins[bin] as number) bin--;
  const selected: number[] = [];
  for (let at = 0; at < values.length; at++) if (binOf(at) >= bin) selected.push(at);
  return selected;
}
