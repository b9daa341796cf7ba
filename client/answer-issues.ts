const issuesByAnswer = new WeakMap<object, readonly string[]>();

/**
 * Where an answer of {@link IntentGate.execute} differs from the intent's description: JSON pointers, and a final `...` if there are more.
 * Empty if it matches. The intent was executed either way.
 * @param answer - the object returned by `execute`, not a copy
 */
export const issuesOf = (answer: object): readonly string[] => issuesByAnswer.get(answer) ?? [];

export function noteIssues<Answer>(answer: Answer, headers: Headers): Answer {
  const field = headers.get('answer-issues');
  if (field !== null && typeof answer === 'object' && answer !== null) issuesByAnswer.set(answer, field.split(/, */).map(decode));
  return answer;
}

function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
