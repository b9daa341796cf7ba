/** Words of questions that say nothing about what is asked for. */
export const stopWords: ReadonlySet<string> = new Set(
  `a about also am an and any anybody anyone anything are aren as assist at be been being but by can could couldn d did didn do does
  doesn doing don find for from get give had has have having he hello help her here hers hey hi him his how i if in into is isn it its
  just let like ll looking m many me might more most much must my need of off on one or our out over please provide re s shall she
  should so some someone something specific specifically such t tell than thank thanks that the their them then there these they this
  those to too us ve very want was wasn we were what when where which while who whom whose why will with won would wouldn you your
  yours`.split(/\s+/),
);
