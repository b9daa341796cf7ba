const noted = new WeakMap<object, readonly string[]>();

/**
 * Where an answer of {@link IntentGate.execute} does not match what the intent says of it: JSON pointers, and `...` at the end if there are more.
 * Empty if it matches. It was executed either way.
 * @param answer - the object that `execute` returned, not a copy
 */
export const issuesOf = (answer: object): readonly string[] => noted.get(answer) ?? [];

export function noteIssues<Answer>(answer: Answer, headers: Headers): Answer {
  const field = headers.get('answer-issues');
  if (field !== null && typeof answer === 'object' && answer !== null) noted.set(answer, field.split(/, */).map(decode));
  return answer;
}

function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
