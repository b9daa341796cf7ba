import type { CheckContext } from './context.ts';

/** One requirement of the specification, and how to check it. */
export interface Check {
  /** stays the same over time, for reports to be compared */
  id: string;
  /** section of the specification, with the row of the endpoint table if it is about an endpoint */
  clause: string;
  title: string;
  /** only made with an admin token */
  isAdmins?: true;
  /**
   * What is wrong, in sentences; nothing if all is well.
   * @throws Unmet if the check cannot be made
   */
  run(context: CheckContext): Promise<string[]>;
}

/** What is wrong in any of several cases, one after the other. */
export async function inEach<T>(cases: readonly T[], find: (one: T) => Promise<string[]>): Promise<string[]> {
  const findings: string[] = [];
  for (const one of cases) findings.push(...(await find(one)));
  return findings;
}

/** A body without one of its members. */
export const without = (body: Record<string, unknown>, member: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== member));

export const segment = (text: unknown): string => encodeURIComponent(String(text));
