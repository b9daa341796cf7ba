import { isIntentSubject, type JudgedIntent } from './conditions.ts';
import { mayBeExecuted } from './judge.ts';
import type { CurrentPolicy } from './policy.ts';
import { isPermitted, isProhibited } from './scope.ts';

/** Which intents a caller sees. */
export interface Sight {
  /** what else decides besides the registry: of equal objects, all answers are equal */
  judgedBy?: object;
  /** Whether the uid alone does not hide an intent: of others, nothing needs to be read. */
  covers(intentUid: string): boolean;
  /** @param read - reads the facts about the intent, if they matter; without them, it is hidden */
  shows(intentUid: string, read: () => JudgedIntent | undefined): boolean;
}

/** Sees what a policy permits: the intents that it lets its agent execute with some parameters at some time, whatever has been used of limits. */
export function sightOf({ agent, decidedFor }: Pick<CurrentPolicy, 'agent' | 'decidedFor'>): Sight {
  const compiled = decidedFor(agent);
  const { scope, rules } = compiled;
  const asksAboutIntents = rules.some(({ conditions }) => conditions.some(({ subject }) => isIntentSubject(subject)));
  const covers = (uid: string): boolean => isPermitted(scope, uid) && !isProhibited(compiled, uid);
  const mayExecute = (intent: JudgedIntent | undefined): boolean => intent !== undefined && mayBeExecuted(rules, intent);
  return { judgedBy: rules, covers, shows: (uid, read) => covers(uid) && (!asksAboutIntents || mayExecute(read())) };
}
