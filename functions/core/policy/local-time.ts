export const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

export const isTimeOfDay = (value: unknown): value is string =>
  typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?$/.test(value);

/** Milliseconds from midnight to a time of day. */
export function sinceMidnightMs(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return (hours * 60 + minutes) * 60_000 + Math.round(seconds * 1_000);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  });
  formats.set(zone, format);
  return format;
}

/** `timeOfDay` has the form HH:MM:SS.mmm. */
export function readLocalTime(nowMs: number, zone: string): { timeOfDay: string; dayOfWeek: string } {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(nowMs)
      .map(({ type, value }) => [type, value]),
  );
  const timeOfDay = `${parts.hour}:${parts.minute}:${parts.second}.${parts.fractionalSecond}`;
  return { timeOfDay, dayOfWeek: String(parts.weekday).toLowerCase() };
}
