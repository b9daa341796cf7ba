import type { Issue } from '../../../schemas/errors.ts';
import { pointer } from '../json/json.ts';

/** A position in a policy, with the list that collects its issues. */
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
