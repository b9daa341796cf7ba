import type { Comparison } from './conditions.ts';

/** Other names of operators. */
export const operatorSynonyms: Record<string, string> = { lteq: 'lte', gteq: 'gte', isAnyOf: 'within' };

/** Operators in words, each with its other name. */
export function withOtherNames(...operators: Comparison[]): string {
  const others = new Map(Object.entries(operatorSynonyms).map(([other, operator]) => [operator, other]));
  return operators.map((operator) => (others.has(operator) ? `${operator} (or ${others.get(operator)})` : operator)).join(', ');
}
