import * as z from 'zod';
import type { Exchange } from '../../client/http.ts';

const prohibiting = z.looseObject({
  prohibition: z.array(z.looseObject({ action: z.string(), target: z.string(), constraint: z.array(z.unknown()).default([]) })).default([]),
});

export function findProhibited(policy: unknown): string | undefined {
  const { prohibition = [] } = prohibiting.safeParse(policy).data ?? {};
  const targets = prohibition.filter(({ action, constraint }) => /\bexecute$/.test(action) && constraint.length === 0);
  const [uid] = targets.flatMap(({ target }) => /\/api\/intents\/([^/?#]+)$/.exec(target)?.[1] ?? []);
  return uid && decodeURIComponent(uid);
}

/** Makes calls, ten at a time, until one fails or more than `rate` are admitted. */
export async function exhaust(
  execute: () => Promise<Exchange>,
  rate: number,
): Promise<{ admitted: number; refused: Exchange | undefined }> {
  let admitted = 0;
  for (let batch = 0; batch * 10 <= rate; batch++) {
    const answers = await Promise.all(Array.from({ length: 10 }, execute));
    admitted += answers.filter(({ status }) => status === 200).length;
    const refused = answers.find(({ status }) => status !== 200);
    if (refused !== undefined || admitted > rate) return { admitted, refused };
  }
  return { admitted, refused: undefined };
}
