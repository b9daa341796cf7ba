export const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** A time of day to the minute or second, which means the whole of it: a condition until 17:00 ends with that minute. */
export const isTimeOfDay = (value: unknown): value is string =>
  typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(value);

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
    hourCycle: 'h23',
  });
  formats.set(zone, format);
  return format;
}

/** `timeOfDay` has the form HH:MM:SS. */
export function readLocalTime(nowMs: number, zone: string): { timeOfDay: string; dayOfWeek: string } {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(nowMs)
      .map(({ type, value }) => [type, value]),
  );
  return { timeOfDay: `${parts.hour}:${parts.minute}:${parts.second}`, dayOfWeek: String(parts.weekday).toLowerCase() };
}
