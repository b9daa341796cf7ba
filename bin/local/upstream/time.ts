import * as z from 'zod';
import { language, Refusal, remember, route, timeZone } from './route.ts';

const dayMs = 86_400_000;

const offsetFormat = remember((timeZone: string) => new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }));

const clockFormat = remember(
  (timeZone: string, language: string) => new Intl.DateTimeFormat(language, { timeZone, weekday: 'long', timeZoneName: 'long' }),
);

/** A zone's offset from UTC at an instant, in milliseconds. */
function offsetMs(zone: string, instantMs: number): number {
  const parts = offsetFormat(zone).formatToParts(instantMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

const utcOffset = (ms: number): string => `${ms < 0 ? '-' : '+'}${new Date(Math.abs(ms)).toISOString().slice(11, 19).replace(/:00$/, '')}`;

export function describeTime(zone: string, instantMs: number, language: string) {
  const offset = offsetMs(zone, instantMs);
  const parts = clockFormat(zone, language).formatToParts(instantMs);
  const part = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? '';
  return {
    time_zone: zone,
    local_time: new Date(instantMs + offset).toISOString().slice(0, 19),
    utc_offset: utcOffset(offset),
    weekday: part('weekday'),
    zone_name: part('timeZoneName'),
  };
}

/**
 * The instants at which clocks in a zone show a local time: none if the clocks skip it, two if they are put back.
 * @param localMs - the local time, in milliseconds since the epoch as if it were UTC
 */
const instantsOf = (localMs: number, zone: string): number[] =>
  [...new Set([offsetMs(zone, localMs - dayMs), offsetMs(zone, localMs + dayMs)])]
    .map((offset) => localMs - offset)
    .filter((instant) => instant + offsetMs(zone, instant) === localMs)
    .sort((a, b) => a - b);

/** Parses a date and time to milliseconds since the epoch. */
const instant = z.iso
  .datetime({ offset: true, error: 'must be a date and time with an offset, for example 2027-03-28T09:30:00+01:00' })
  .transform((text) => Date.parse(text));

export const timeRoutes = [
  route('GET', '/time', { time_zone: timeZone, in_language: language }, ({ time_zone, in_language }) =>
    describeTime(time_zone, Date.now(), in_language),
  ),
  route('POST', '/time/convert', { time: instant, to_time_zone: timeZone }, ({ time, to_time_zone }) => {
    const clock = describeTime(to_time_zone, time, 'en');
    return { ...clock, time: `${clock.local_time}${clock.utc_offset}` };
  }),
  route(
    'POST',
    '/time/convert-local',
    {
      local_time: z.iso.datetime({ local: true, precision: -1, error: 'must be what the clock shows, for example 2027-03-28T09:30' }),
      from_time_zone: timeZone,
      to_time_zones: z.array(timeZone).min(1, 'must name at least one time zone').max(50, 'must name at most 50 time zones'),
      in_language: language,
    },
    ({ local_time, from_time_zone, to_time_zones, in_language }) => {
      const [instant, later] = instantsOf(Date.parse(`${local_time}Z`), from_time_zone);
      if (instant === undefined) {
        throw new Refusal(
          422,
          'local_time does not exist in from_time_zone: the clocks are put forward over it. Choose a time an hour later.',
        );
      }
      const conversions = to_time_zones.map((zone) => {
        const clock = describeTime(zone, instant, in_language);
        const day_difference = (Date.parse(clock.local_time.slice(0, 10)) - Date.parse(local_time.slice(0, 10))) / dayMs;
        return { ...clock, day_difference };
      });
      return { instant: new Date(instant).toISOString(), is_ambiguous: later !== undefined, conversions };
    },
  ),
];
