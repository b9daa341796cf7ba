export const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** The operands that stand for a local time, and what each may be compared with. */
export const clockSubjects = {
  timeOfDay: { holds: (text: string) => /^([01]\d|2[0-3]):[0-5]\d$/.test(text), description: 'a time of day such as 09:00' },
  dayOfWeek: {
    holds: (text: string) => days.some((day) => day === text),
    description: `one of ${days.join(', ')}`,
  },
} as const;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Whether a text names a time zone, such as Europe/Berlin. */
export function isZone(zone: string): boolean {
  try {
    return Boolean(clockOf(zone));
  } catch {
    return false;
  }
}

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known) return known;
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  clocks.set(zone, clock);
  return clock;
}

/** What a clock in a zone shows. */
export function readClock(nowMs: number, zone: string): { timeOfDay: string; dayOfWeek: string } {
  const parts = Object.fromEntries(
    clockOf(zone)
      .formatToParts(nowMs)
      .map(({ type, value }) => [type, value]),
  );
  return { timeOfDay: `${parts.hour}:${parts.minute}`, dayOfWeek: String(parts.weekday).toLowerCase() };
}
