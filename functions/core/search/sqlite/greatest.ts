const binCount = 1_024;

/**
 * The places of the greatest values, in no order: as many as are wanted, and some more that are nearly as great. Equal values are all among them,
 * or none. It counts how many values are about how great, which takes one time whatever their order.
 */
export function findGreatest(values: Float32Array, wanted: number): number[] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < values.length; at++) {
    least = Math.min(least, values[at] as number);
    most = Math.max(most, values[at] as number);
  }
  const scale = (binCount - 1) / (most - least || 1);
  const bins = new Uint32Array(binCount);
  for (let at = 0; at < values.length; at++) {
    const bin = Math.floor(((values[at] as number) - least) * scale);
    bins[bin] = (bins[bin] as number) + 1;
  }
  let bin = binCount - 1;
  for (let found = bins[bin] as number; found < wanted && bin > 0; found += bins[bin] as number) bin--;
  const places: number[] = [];
  for (let at = 0; at < values.length; at++) if (Math.floor(((values[at] as number) - least) * scale) >= bin) places.push(at);
  return places;
}
