const issuesByAnswer = new WeakMap<object, readonly string[]>();

/**
 * Where an answer of {@link IntentGate.execute} differs from the intent's description: JSON pointers, and a final `...` if there are more.
 * Empty if it matches. The intent was executed either way.
 * @param answer - the object returned by `execute`, not a copy
 */
export const issuesOf = (answer: object): readonly string[] => issuesByAnswer.get(answer) ?? [];

/** What the service behind an intent answered, besides the content. */
export interface Upstream {
  status: number;
  /** `Location`, `Link`, `ETag`, `Operation-Location` and those that the intent names; `Cut` names those that were too long */
  headers: Headers;
}

const upstreamByAnswer = new WeakMap<object, Upstream>();

/**
 * The status and header fields of the service's answer, such as `upstreamOf(order)?.headers.get('Location')`.
 * @param answer - the object returned by `execute`, not a copy
 */
export const upstreamOf = (answer: object): Upstream | undefined => upstreamByAnswer.get(answer);

export function noteHeaders<Answer>(answer: Answer, headers: Headers): Answer {
  if (typeof answer !== 'object' || answer === null) return answer;
  const issues = headers.get('answer-issues');
  if (issues !== null) issuesByAnswer.set(answer, issues.split(/, */).map(decode));
  const fields = [...headers].flatMap(([name, value]) => (name.startsWith('upstream-') ? [[name.slice('upstream-'.length), value]] : []));
  const { status, ...others } = Object.fromEntries(fields);
  if (status !== undefined) upstreamByAnswer.set(answer, { status: Number(status), headers: new Headers(others) });
  return answer;
}

function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
