import type { Issue } from '../../../schemas/errors.ts';
import { pointer } from '../json.ts';

/** A position in a policy, and the list to which its issues are added. */
export class Position {
  readonly #issues: Issue[];
  readonly #segments: readonly PropertyKey[];

  constructor(issues: Issue[], segments: readonly PropertyKey[] = []) {
    this.#issues = issues;
    this.#segments = segments;
  }

  get pointer(): string {
    return pointer(this.#segments);
  }

  at(...segments: readonly PropertyKey[]): Position {
    return new Position(this.#issues, [...this.#segments, ...segments]);
  }

  refuse(problem: string): void {
    this.#issues.push({ path: this.pointer, problem });
  }
}

/** Whether a JSON pointer leads to a position or to something inside it. */
export const isWithin = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);
