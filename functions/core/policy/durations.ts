const pattern = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** A month counts as 31 days and a year as 366, so that no calendar month or year allows too much. */
const secondsOf = { year: 366 * 86_400, month: 31 * 86_400, day: 86_400, hour: 3_600, minute: 60, second: 1 };
const units = Object.keys(secondsOf) as (keyof typeof secondsOf)[];

function partsOf(duration: string) {
  const [, ...amounts] = pattern.exec(duration) ?? [];
  return units.map((unit, at) => ({ amount: Number(amounts[at] ?? 0), unit })).filter(({ amount }) => amount > 0);
}

export const toSeconds = (duration: string): number =>
  partsOf(duration).reduce((sum, { amount, unit }) => sum + amount * secondsOf[unit], 0);

/** An ISO 8601 duration as it reads after "every": `day`, `3 months`, `1 hour and 30 minutes`. */
export function nameDuration(duration: string): string {
  const parts = partsOf(duration).map(({ amount, unit }) => `${amount} ${unit}${amount === 1 ? '' : 's'}`);
  return parts.length === 0 ? duration : parts.join(' and ').replace(/^1 (\w+)$/, '$1');
}
