import type { Duty } from '../../../schemas/policy.ts';
import { isObject } from '../json/json.ts';
import { partsOf, secondsOf } from './durations.ts';
import { isCurrency, minorDigits } from './money.ts';
import type { Position } from './position.ts';
import { termOf } from './scope.ts';

export interface Payment {
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** ISO 8601 duration; without it or with a budget, the amount is due for each execution */
  every?: string | undefined;
  /** the maximum to be spent in any period of length `every` */
  budget?: number;
  /** what is paid for or, for a shared budget, a URI that ends in its name */
  target?: string | undefined;
}

/** The length of an ISO 8601 duration. */
export const toSeconds = (duration: string): number =>
  partsOf(duration).reduce((sum, { amount, unit }) => sum + amount * secondsOf[unit], 0);

const maxSeconds = toSeconds('P5Y');

/** Whether a duty requires a person's approval of each call. Such a duty has no other members. */
export function isApproval({ action, ...others }: Duty, position: Position): boolean {
  if (termOf(action) !== 'approve') return false;
  for (const name of Object.keys(others)) position.at(name).refuse('must be left out: an approval has no terms');
  return true;
}

/** Reads a payment: a number is a price that the gate only shows, an object a price with a budget that it enforces. */
export function readDuty({ action, amount, unit = '', timeInterval, target }: Duty, position: Position): Payment {
  const currency = termOf(unit);
  if (termOf(action) !== 'pay') position.at('action').refuse('must be pay or approve');
  if (!isCurrency(currency)) position.at('unit').refuse('must be a currency: a URI that ends in its ISO 4217 code');
  const period = timeInterval === undefined ? 0 : toSeconds(timeInterval);
  if (!isObject(amount)) {
    if (typeof amount !== 'number' || amount < 0) position.at('amount').refuse('must be a number of at least 0');
    if (timeInterval !== undefined && period < 1) position.at('timeInterval').refuse('must be a duration of at least PT1S');
    return { amount: Number(amount), currency, every: timeInterval, target };
  }
  const { price, budget, ...unknown } = amount;
  for (const name of Object.keys(unknown)) position.at('amount', name).refuse('is not a known member; remove it');
  for (const [name, value] of Object.entries({ price, budget })) {
    if (typeof value !== 'number' || !toMinorUnits(value, currency))
      position.at('amount', name).refuse(`must be a positive amount with at most ${minorDigits(currency)} decimals and 15 digits`);
  }
  if (period < 1 || period > maxSeconds)
    position.at('timeInterval').refuse('must be a duration between PT1S and P5Y, in which the budget may be spent');
  if (target !== undefined && !/^[\w.~-]{1,100}$/.test(termOf(target)))
    position
      .at('target')
      .refuse('must end in a name of at most 100 ASCII letters, digits and . _ ~ -, by which responses refer to the budget');
  return { amount: Number(price), currency, every: timeInterval, budget: Number(budget), target };
}

/**
 * An amount of a currency in its minor units, read from its decimal digits, so that nothing is rounded.
 * @returns undefined if it is negative, has a fraction of the minor unit, or too many digits to be exact
 */
export function toMinorUnits(amount: number, code: string): number | undefined {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(String(amount)) ?? [];
  const digits = minorDigits(code);
  if (whole === undefined || fraction.length > digits) return undefined;
  const minor = Number(whole + fraction.padEnd(digits, '0'));
  return Number.isSafeInteger(minor) ? minor : undefined;
}
