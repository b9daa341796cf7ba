import { methods } from '../../../schemas/intent.ts';
import { type Call, type Condition, isDate, isInstant, millisecondsOf, type Scalar, type Subject } from './conditions.ts';
import { days, isTimeOfDay, readLocalTime } from './local-time.ts';

/** Sample calls: if any call meets these conditions, one of the samples does. They use the constants, and values between and beyond them. */
export function candidatesFor(subject: Subject, conditions: readonly Condition[], sinceMs: number): Call[] {
  const constants = conditions.flatMap(({ values }) => values);
  const call: Call = { intentUid: '', parameters: {}, account: '', nowMs: 0 };
  switch (subject.of) {
    case 'parameter': {
      const values = [...neighbours(constants), true, false, 'a text that no policy names'];
      const intentUid = subject.uid ?? '';
      return [{ ...call, intentUid }, ...values.map((value) => ({ ...call, intentUid, parameters: { [subject.name]: value } }))];
    }
    case 'agentKey':
    case 'agentDomain':
    case 'agentId': {
      const fact = subject.of === 'agentKey' ? 'account' : subject.of;
      return [call, ...constants.map((value) => ({ ...call, [fact]: String(value) }))];
    }
    case 'dateTime':
      return [sinceMs, ...neighbours(constants).map((value) => (isInstant(value) ? millisecondsOf(value) : Date.parse(String(value))))]
        .filter(Number.isFinite)
        .map((nowMs) => ({ ...call, nowMs }));
    case 'method':
      return methods.map((method) => ({ ...call, method }));
    case 'tag':
      return subsetsOf(constants.map(String)).map((tags) => ({ ...call, tags }));
    case 'service': {
      const values = [...constants.map(String), 'a service that no policy names'];
      return values.flatMap((service_id) => values.map((service_name) => ({ ...call, service: { service_id, service_name } })));
    }
    case 'timeOfDay':
    case 'dayOfWeek':
      return timesAround(constants.filter(isTimeOfDay), 'zone' in subject ? subject.zone : 'UTC').map((nowMs) => ({ ...call, nowMs }));
  }
}

const daySeconds = 24 * 60 * 60;
const weekSeconds = days.length * daySeconds;

/** Midnight, and the beginnings and ends of these times of day, on each day of a week in which no zone changes its clocks. */
function timesAround(times: readonly string[], zone: string): number[] {
  const startMs = Date.UTC(2026, 0, 5);
  const secondOf = (time: string): number => {
    const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
    return (hours * 60 + minutes) * 60 + seconds;
  };
  const local = readLocalTime(startMs, zone);
  const offset = (days as readonly string[]).indexOf(local.dayOfWeek) * daySeconds + secondOf(local.timeOfDay);
  const around = (time: string) => [-1, 0, time.length > 5 ? 1 : 60].map((step) => secondOf(time) + step);
  const seconds = new Set([0, ...times.flatMap(around)]);
  const inWeek = days.flatMap((_, day) =>
    [...seconds].map((second) => (day * daySeconds + second - offset + 2 * weekSeconds) % weekSeconds),
  );
  return inWeek.map((second) => startMs + second * 1_000);
}

/** Beyond this number of texts, not every subset is tried. */
export const maxTexts = 10;

/** Every subset; for many texts only the empty set, each text alone, and all of them. */
function subsetsOf(texts: readonly string[]): string[][] {
  const distinct = [...new Set(texts)];
  if (distinct.length > maxTexts) return [[], ...distinct.map((text) => [text]), distinct];
  return Array.from({ length: 2 ** distinct.length }, (_, chosen) => distinct.filter((_text, at) => (chosen >> at) % 2 === 1));
}

/** Values around and between constants, of the same types. */
function neighbours(constants: readonly Scalar[]): Scalar[] {
  const around = (numbers: number[], step: number) => {
    const sorted = numbers.toSorted((a, b) => a - b);
    return sorted.flatMap((one, at) => {
      // a step that a number of this size can make
      const far = Math.max(step, Math.abs(one) * 2 * Number.EPSILON);
      return [one - far, one, one + far, (one + (sorted[at + 1] ?? one)) / 2].filter(Number.isFinite);
    });
  };
  const numbers = constants.filter((value) => typeof value === 'number');
  const instants = constants.filter(isInstant).map(millisecondsOf);
  const dates = constants.filter(isDate).map((value) => Date.parse(value));
  const day = 86_400_000;
  return [
    ...constants,
    ...around(numbers, 1),
    ...around(instants, 1).map((timeMs) => new Date(timeMs).toISOString()),
    ...around(dates, day).map((timeMs) => new Date(timeMs).toISOString().slice(0, 10)),
  ];
}
