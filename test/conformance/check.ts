import type * as z from 'zod';
import type { Exchange } from '../../client/http.ts';
import { issuesOf } from '../../functions/core/json/json.ts';
import type { Gate } from './gate.ts';
import { errorShape } from './shapes.ts';

/** A requirement of the specification, and its check. */
export interface Check {
  /** stable, so that reports can be compared */
  id: string;
  /** section of the specification, with the row of the endpoint table for endpoints */
  clause: string;
  title: string;
  /** needs an admin token */
  isAdmins?: true;
  /**
   * Runs the check; `expect` records what is wrong.
   * @throws Unmet if the check cannot be run
   */
  run(gate: Gate, expect: Expect): Promise<void>;
}

export const check = (id: string, clause: string, title: string, run: Check['run']): Check => ({ id, clause, title, run });

export const adminOnly = (checks: readonly Check[]): Check[] => checks.map((one) => ({ ...one, isAdmins: true }));

export type Expect = ReturnType<typeof openExpect>;

/** Compares responses with expectations, and adds a sentence to `findings` for each difference. */
export function openExpect(findings: string[]) {
  const codeOf = ({ body }: Exchange): string | undefined => errorShape.safeParse(body).data?.error.code;
  const describe = (answer: Exchange): string =>
    `${answer.request} was answered with ${[answer.status, codeOf(answer) ?? []].flat().join(' ')}`;

  function that(holds: boolean, finding: string): void {
    if (!holds) findings.push(finding);
  }

  function readBody<T extends z.ZodType>({ request, body, headers }: Exchange, shape: T, label: string): z.output<T> | undefined {
    const before = findings.length;
    that(body !== undefined, `${label}${request} was answered with a body that is not JSON`);
    if (body === undefined) return undefined;
    const isDeclared = /^application\/json\b/i.test(headers.get('content-type') ?? '');
    that(isDeclared, `${label}${request} was answered without Content-Type: application/json`);
    const { data, error } = shape.safeParse(body, { reportInput: true });
    for (const { path, problem } of error ? issuesOf(error) : [])
      findings.push(`${label}${request}: ${path || 'the body'} of the answer ${problem}`);
    return findings.length === before ? data : undefined;
  }

  /** Expects an error response: its status or class, its code (specification section 7.2) and its format (7.1). */
  function refusal(answer: Exchange, status: number | '4xx', code: string, label = ''): void {
    const isWanted = status === '4xx' ? answer.status >= 400 && answer.status < 500 : answer.status === status;
    if (!isWanted) findings.push(`${label}${describe(answer)}; expected ${status} ${code}`);
    else if (readBody(answer, errorShape, label)) {
      that(codeOf(answer) === code, `${label}${answer.request} was refused with ${codeOf(answer)}; expected ${code}`);
    }
  }

  return {
    that,
    refusal,
    /** @param what - the mistake in the request, if several requests differ only in that */
    invalid: (answer: Exchange, what?: string) => refusal(answer, 400, 'INVALID_PARAMETER', what === undefined ? undefined : `${what}: `),
    notFound: (answer: Exchange) => refusal(answer, 404, 'NOT_FOUND'),
    /** @returns the body if it has the expected shape */
    success<T extends z.ZodType>(answer: Exchange, status: number, shape: T): z.output<T> | undefined {
      that(answer.status === status, `${describe(answer)}; expected ${status}`);
      return answer.status === status ? readBody(answer, shape, '') : undefined;
    },
    emptied(answer: Exchange): void {
      if (answer.status !== 204) findings.push(`${describe(answer)}; expected 204`);
      else that(answer.text === '', `${answer.request} was answered with 204 and a body`);
    },
  };
}
