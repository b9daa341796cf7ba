import { Refusal } from './refusal.ts';
import { remember } from './remember.ts';

const dayMs = 86_400_000;

const offsetFormat = remember((timeZone: string) => new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }));

const clockFormat = remember(
  (timeZone: string, language: string) => new Intl.DateTimeFormat(language, { timeZone, weekday: 'long', timeZoneName: 'long' }),
);

/** How far a zone's clocks are ahead of UTC at an instant, in milliseconds. */
function offsetMs(zone: string, instantMs: number): number {
  const parts = offsetFormat(zone).formatToParts(instantMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

const utcOffset = (ms: number): string => `${ms < 0 ? '-' : '+'}${new Date(Math.abs(ms)).toISOString().slice(11, 19).replace(/:00$/, '')}`;

/** What a zone's clocks show at an instant. */
function readClock(zone: string, instantMs: number, language: string) {
  const offset = offsetMs(zone, instantMs);
  const shown = new Date(instantMs + offset).toISOString().slice(0, 19);
  const parts = clockFormat(zone, language).formatToParts(instantMs);
  const part = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? '';
  return {
    time_zone: zone,
    local_time: shown,
    utc_offset: utcOffset(offset),
    weekday: part('weekday'),
    zone_name: part('timeZoneName'),
  };
}

export const currentTime = (zone: string, language: string) => readClock(zone, Date.now(), language);

export function convertInstant(instantMs: number, zone: string) {
  const clock = readClock(zone, instantMs, 'en');
  return { ...clock, time: `${clock.local_time}${clock.utc_offset}` };
}

/**
 * The instants at which a zone's clocks show `local`: none if clocks are put forward over it, two if they are put back.
 * @param localMs - what the clocks show, read as if it were UTC
 */
const instantsOf = (localMs: number, zone: string): number[] =>
  [...new Set([offsetMs(zone, localMs - dayMs), offsetMs(zone, localMs + dayMs)])]
    .map((offset) => localMs - offset)
    .filter((instant) => instant + offsetMs(zone, instant) === localMs)
    .sort((a, b) => a - b);

/** @throws Refusal 422 if the clocks of `from` skip `local` */
export function convertLocalTime(local: string, from: string, to: string[], language: string) {
  const localMs = Date.parse(`${local}Z`);
  const [instant, later] = instantsOf(localMs, from);
  if (instant === undefined) {
    throw new Refusal(422, 'local_time does not exist in from_time_zone: the clocks are put forward over it. Take a time an hour later.');
  }
  return {
    instant: new Date(instant).toISOString(),
    is_ambiguous: later !== undefined,
    conversions: to.map((zone) => {
      const clock = readClock(zone, instant, language);
      const dayDifference = (Date.parse(clock.local_time.slice(0, 10)) - Date.parse(local.slice(0, 10))) / dayMs;
      return { ...clock, day_difference: dayDifference };
    }),
  };
}

export type DateStyle = 'full' | 'long' | 'medium' | 'short';

export function formatDate(instantMs: number, language: string, zone: string, style: DateStyle, calendar: string) {
  const format = new Intl.DateTimeFormat(language, { dateStyle: style, timeStyle: style, timeZone: zone, calendar });
  return { text: format.format(instantMs), calendar: format.resolvedOptions().calendar };
}
