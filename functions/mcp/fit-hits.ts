import type { BriefIntent } from '../../schemas/intent-pages.ts';

/** Maximum size of a tool's data. A result contains them twice, as text and as structure: less than 8 KB in total. */
const maxDataBytes = 3_400;

/** Lengths of summaries to try, in characters. */
const summaryLengths = [300, 120, 0];

interface BriefPage {
  intents: BriefIntent[];
}

const bytesOf = (data: object): number => Buffer.byteLength(JSON.stringify(JSON.stringify(data)));

/** Shortens the summaries of a page, then drops the last hits and counts them. */
export function fitHits<T extends BriefPage>(page: T): T & { left_out?: number } {
  const shortened = summaryLengths
    .map((length) => ({ ...page, intents: page.intents.map((intent) => ({ ...intent, summary: intent.summary.slice(0, length) })) }))
    .find((candidate, at) => bytesOf(candidate) <= maxDataBytes || at === summaryLengths.length - 1);
  const fitting = shortened ?? page;
  for (let count = fitting.intents.length; ; count--) {
    const left = fitting.intents.length - count;
    const data = { ...fitting, intents: fitting.intents.slice(0, count), ...(left > 0 && { left_out: left }) };
    if (count === 0 || bytesOf(data) <= maxDataBytes) return data;
  }
}
