import type * as z from 'zod';

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

function describeBound(origin: string, bound: unknown, side: 'least' | 'most', isInclusive = true): string {
  if (origin === 'string') return `must have at ${side} ${bound} characters`;
  if (origin === 'array' || origin === 'set') return `must have at ${side} ${bound} items`;
  if (origin === 'object' || origin === 'map') return `must have at ${side} ${bound} members`;
  if (!isInclusive) return `must be ${side === 'least' ? 'greater' : 'less'} than ${bound}`;
  return `must be at ${side} ${bound}`;
}

/**
 * The message of an issue whose schema has none: the rest of a sentence that begins with the place.
 * @returns undefined for issues that `issuesOf` describes by their code
 */
export function zodMessage(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'too_big':
      return describeBound(issue.origin, issue.maximum, 'most', issue.inclusive);
    case 'too_small':
      return describeBound(issue.origin, issue.minimum, 'least', issue.inclusive);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      if (issue.format === 'regex' && issue.pattern) return `must match the pattern ${issue.pattern.replace(/^\/(.*)\/\w*$/s, '$1')}`;
      return issue.format === 'url' ? 'must be an absolute URL' : `must have the format ${issue.format}`;
    case 'invalid_key':
      return 'must have other member names';
    case 'custom':
      return 'is not acceptable';
    default:
      return undefined;
  }
}
