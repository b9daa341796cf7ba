import * as z from 'zod';
import { intentInput } from './intent.ts';
import { intentDigest } from './intent-digest.ts';
import { intentUid } from './intent-uid.ts';

/** Maximum number of intents per request: a transaction holds 100 items, and each intent takes up to three. */
export const maxChangedIntents = 30;

/** The body that changes several intents of a service in one transaction. */
export const intentChanges = z
  .strictObject({
    create: z.array(intentInput).default([]),
    replace: z.array(intentInput).default([]).describe('whole records, identified by their uids'),
    delete: z.array(intentUid).default([]),
    if_match: z
      .record(z.string(), z.string().max(200))
      .default({})
      .describe(
        'for each uid, the digest or entity tag that was read with the intent; 409 if the intent has changed since. A digest covers what agents read, an entity tag the whole intent',
      ),
  })
  .superRefine((changes, context) => {
    const uids = [
      ...changes.create.map(({ intent_uid }, at) => ({ uid: intent_uid, path: ['create', at, 'intent_uid'] })),
      ...changes.replace.map(({ intent_uid }, at) => ({ uid: intent_uid, path: ['replace', at, 'intent_uid'] })),
      ...changes.delete.map((uid, at) => ({ uid, path: ['delete', at] })),
    ];
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (uids.length > maxChangedIntents) refuse([], `must have at most ${maxChangedIntents} changes; send the others in further requests`);
    for (const [at, { uid, path }] of uids.entries()) {
      if (uids.findIndex((other) => other.uid === uid) < at) refuse(path, 'must not be the uid of another change in the same request');
    }
    for (const uid of Object.keys(changes.if_match)) {
      if (!uids.some((other) => other.uid === uid && other.path[0] !== 'create'))
        refuse(['if_match', uid], 'must be the uid of an intent that is replaced or deleted');
    }
  })
  .meta({ id: 'IntentChanges', description: 'Up to 30 changes of intents of one service, made in one transaction.' });

export type IntentChanges = z.infer<typeof intentChanges>;

export const intentsChanged = z
  .strictObject({
    seq: z.int().describe('number of the log entry (`GET /api/changes`)'),
    intents: z
      .array(z.strictObject({ intent_uid: intentUid, digest: intentDigest }))
      .describe('the created and replaced intents, in the order of the request, with their new digests'),
  })
  .meta({ id: 'IntentsChanged', description: 'The changes that were made.' });
