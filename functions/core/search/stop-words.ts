/** Words of questions that say nothing about what is asked for. */
export const stopWords: ReadonlySet<string> = new Set(
  `a about am an and any anybody anyone anything are as at be been being but by can could did do does doing for from
  get give had has have having he hello help her here hers hey hi him his how i if in into is it its just let like ll
  many me might more most much must my need of off on one or our out over please re s shall she should so some someone something
  such t tell than thank thanks that the their them then there these they this those to too us ve very want was we were what
  when where which while who whom whose why will with would you your yours`.split(/\s+/),
);
