import type * as z from 'zod';
import type { Exchange } from '../../client/http.ts';
import { issuesOf } from '../../functions/core/json.ts';
import { inEach } from './check.ts';
import { errorShape } from './shapes.ts';

/** What is wrong with the form of an answer's JSON body. */
export function checkShape({ request, body, headers }: Exchange, shape: z.ZodType): string[] {
  if (body === undefined) return [`${request} was answered with a body that is not JSON`];
  const result = shape.safeParse(body, { reportInput: true });
  const issues = result.success ? [] : issuesOf(result.error);
  return [
    ...(/^application\/json\b/i.test(headers.get('content-type') ?? '')
      ? []
      : [`${request} was answered without Content-Type: application/json`]),
    ...issues.map(({ path, problem }) => `${request}: ${path || 'the body'} of the answer ${problem}`),
  ];
}

/** What is wrong with an answer that should be a success. */
export const checkAnswer = (answer: Exchange, status: number, shape: z.ZodType): string[] =>
  answer.status === status ? checkShape(answer, shape) : [`${describeStatus(answer)}, but should be answered ${status}`];

/** What is wrong with an answer that should have no body. */
export const checkEmptied = (answer: Exchange): string[] => {
  if (answer.status !== 204) return [`${describeStatus(answer)}, but should be answered 204`];
  return answer.text === '' ? [] : [`${answer.request} was answered with a body, but 204 has none`];
};

/** A status, or any of its class if the specification names only the class. */
export type WantedStatus = number | '4xx';

/** What is wrong with an answer that should be a refusal: its status, its name (specification section 7.2), its form (7.1). */
export function checkRefusal(answer: Exchange, status: WantedStatus, code: string): string[] {
  const isWanted = status === '4xx' ? answer.status >= 400 && answer.status < 500 : answer.status === status;
  if (!isWanted) return [`${describeStatus(answer)}, but should be refused with ${status} ${code}`];
  const problems = checkShape(answer, errorShape);
  if (problems.length > 0) return problems;
  return codeOf(answer) === code ? [] : [`${answer.request} was refused as ${codeOf(answer)}, but should be refused as ${code}`];
}

/** What is wrong with the answers to requests that should each be refused as invalid, with the name of the case. */
export const checkInvalid = <T>(cases: readonly T[], ask: (one: T) => Promise<Exchange>, nameOf: (one: T) => string): Promise<string[]> =>
  inEach(cases, async (one) => checkRefusal(await ask(one), 400, 'INVALID_PARAMETER').map((finding) => `${nameOf(one)}: ${finding}`));

const codeOf = ({ body }: Exchange): string | undefined => errorShape.safeParse(body).data?.error.code;

const describeStatus = (answer: Exchange): string =>
  `${answer.request} was answered ${[answer.status, codeOf(answer) ?? []].flat().join(' ')}`;
