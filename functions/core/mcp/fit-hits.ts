import type { BriefIntent } from '../../../schemas/intent.ts';

/** A tool's answer holds its data twice, as text and as structure, so this keeps the whole below 8 KB. In bytes. */
const maxDataBytes = 3_400;

/** Longest summaries that are tried one after the other, in characters. */
const summaryLengths = [300, 120, 0];

interface BriefPage {
  intents: BriefIntent[];
}

const bytesOf = (data: object): number => Buffer.byteLength(JSON.stringify(JSON.stringify(data)));

/** A page of hits as models can afford to read it: summaries are shortened first, then the last hits are left out, and counted. */
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
