const pattern = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** A month counts as 31 days and a year as 366, so that no calendar month or year allows too much. */
export const secondsOf = { year: 366 * 86_400, month: 31 * 86_400, day: 86_400, hour: 3_600, minute: 60, second: 1 };
const units = Object.keys(secondsOf) as (keyof typeof secondsOf)[];

export function partsOf(duration: string) {
  const [, ...amounts] = pattern.exec(duration) ?? [];
  return units.map((unit, at) => ({ amount: Number(amounts[at] ?? 0), unit })).filter(({ amount }) => amount > 0);
}

/** A whole number of seconds as it reads after "per": `minute`, `week`, `31 days`, `90 seconds`. */
export function namePeriod(seconds: number): string {
  const unit = units.slice(2).find((one) => seconds % secondsOf[one] === 0) ?? 'second';
  return seconds === 604_800 ? 'week' : nameCount(seconds / secondsOf[unit], unit).replace(/^1 /, '');
}

const nameCount = (amount: number, unit: string): string => `${amount} ${unit}${amount === 1 ? '' : 's'}`;

/** An ISO 8601 duration as it reads after "every": `day`, `3 months`, `1 hour and 30 minutes`. */
export function nameDuration(duration: string): string {
  const parts = partsOf(duration).map(({ amount, unit }) => nameCount(amount, unit));
  return parts.length === 0 ? duration : parts.join(' and ').replace(/^1 (\w+)$/, '$1');
}
