import type { Usage } from '../../../schemas/agent.ts';
import { formatMoney } from '../policy/money.ts';
import type { LimitState } from './rate-limiter.ts';

export function describeUsage({ charge: { name, rule, rate, period, currency }, used }: LimitState): Usage {
  const show = (amount: number) => (currency === undefined ? amount : formatMoney(amount, currency));
  return {
    limit: name,
    ...(rule !== undefined && { rule }),
    of: show(rate),
    used: show(used),
    left: show(Math.max(0, rate - used)),
    ...(Number.isFinite(period) && { period }),
    ...(currency !== undefined && { unit: currency }),
  };
}
