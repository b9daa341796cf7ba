import type { Duty } from '../../../schemas/policy.ts';
import { isObject, pointer } from '../json.ts';
import { type Complain, type Place, termOf } from './constraints.ts';
import { formatMoney, isCurrency, minorDigits, toMinorUnits } from './money.ts';

/** What a policy asks for a permission. */
export interface Payment {
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** ISO 8601 duration; without it the amount is due for each execution */
  every?: string;
  /** how much may be paid in any such time */
  budget?: { amount: number; every: string };
  /** what is paid for or, of a budget that several permissions share, its name */
  target?: string;
}

/** A price that is paid from a budget, both in the minor units of the currency. */
export interface StatedBudget {
  rule: string;
  /** names a budget that several permissions are paid from */
  target?: string;
  price: number;
  budget: number;
  currency: string;
  /** seconds */
  period: number;
}

const secondsOf = { Y: 366 * 86_400, M: 31 * 86_400, D: 86_400, H: 3_600, m: 60, S: 1 };

/** Seconds of an ISO 8601 duration: a month counts as 31 days and a year as 366, so that no calendar month or year gets more than it may. */
function toSeconds(duration: string): number {
  const [date = '', time = ''] = duration.slice(1).split('T');
  const sum = (text: string, units: Record<string, number>) =>
    [...text.matchAll(/(\d+)([YMDHS])/g)].reduce((total, [, number, unit = '']) => total + Number(number) * (units[unit] ?? 0), 0);
  return sum(date, secondsOf) + sum(time, { ...secondsOf, M: secondsOf.m });
}

/** Longest time of a budget, in seconds: five years. */
const maxSeconds = 5 * secondsOf.Y;

/** A duty to pay: a price each time or a fee for some time, which is shown; or, as an object, a price and a budget, which is enforced. */
export function readDuty(
  { action, amount, unit = '', timeInterval, target }: Duty,
  place: Place,
  complain: Complain,
): { payment: Payment; budget?: StatedBudget } {
  const currency = termOf(unit);
  if (termOf(action) !== 'pay') complain([...place, 'action'], 'must be pay');
  if (!isCurrency(currency)) complain([...place, 'unit'], 'must be a currency: a URI that ends in its ISO 4217 code');
  const period = timeInterval === undefined ? 0 : toSeconds(timeInterval);
  if (!isObject(amount)) {
    if (typeof amount !== 'number' || amount < 0) complain([...place, 'amount'], 'must be a number of at least 0');
    if (timeInterval !== undefined && period < 1) complain([...place, 'timeInterval'], 'must be a duration of at least PT1S');
    const every = timeInterval === undefined ? {} : { every: timeInterval };
    return { payment: { amount: Number(amount), currency, ...every, ...(target !== undefined && { target }) } };
  }
  const { price, budget, ...unknown } = amount;
  for (const name of Object.keys(unknown)) complain([...place, 'amount', name], 'is not a known member; remove it');
  const read = (name: 'price' | 'budget', value: unknown): number => {
    const minor = typeof value === 'number' ? toMinorUnits(value, currency) : undefined;
    if (!minor) complain([...place, 'amount', name], describeAmount(value, currency));
    return minor || 1;
  };
  const stated = { price: read('price', price), budget: read('budget', budget) };
  if (period < 1 || period > maxSeconds)
    complain([...place, 'timeInterval'], 'must be a duration between PT1S and P5Y, in which the budget may be spent');
  const name = target === undefined ? undefined : termOf(target);
  if (name !== undefined && !/^[\w.~-]{1,100}$/.test(name))
    complain([...place, 'target'], 'must end in a name of at most 100 ASCII letters, digits and . _ ~ -, which answers call the budget by');
  const every = timeInterval ?? '';
  return {
    payment: { amount: Number(price), currency, budget: { amount: Number(budget), every }, ...(name !== undefined && { target: name }) },
    budget: { rule: pointer(place), ...(target !== undefined && { target }), ...stated, currency, period },
  };
}

/** What an amount of a budget has to be that is not. */
function describeAmount(value: unknown, currency: string): string {
  if (value === undefined) return 'is required';
  if (!isCurrency(currency)) return 'must be a number above 0';
  const largest = formatMoney(Number.MAX_SAFE_INTEGER, currency);
  if (typeof value === 'number' && value > Number(largest)) return `must be at most ${largest}, up to which sums are exact`;
  return `must be a number above 0 with at most ${minorDigits(currency)} decimals, which ${currency} has`;
}
