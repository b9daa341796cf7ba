import { foldName, name } from './text.ts';

/** The suffix of a shared id: the thumbprint of the key. */
export const sharedSuffix = /~[\w-]{43}$/;

/** Placeholder in a path if the query names the agent, by `key_thumbprint`. */
export const noAgentId = '~';

/** The prefix of agent_ids that the gate gives to signed-in people. */
export const signedInPrefix = 'signed-in:';

/** Normalises an agent_id for comparison and for paths: full-width letters and dots equal the usual ones. */
const fold = (text: string): string => foldName(text.normalize('NFKC'));

export const agentId = name(256)
  .refine(
    (text) => !fold(text).startsWith(signedInPrefix),
    `must not begin with ${signedInPrefix}, the prefix of the ids of signed-in people`,
  )
  .refine((text) => !/^\.{1,2}$/.test(fold(text)), 'must not be or look like . or .., which clients remove from paths')
  .refine((text) => fold(text) !== noAgentId, `must not be ${noAgentId}, which means no agent_id in paths`)
  .refine(
    (text) => !sharedSuffix.test(fold(text)),
    'must not end in ~ and a key thumbprint, the suffix of the ids of agents that share an agent_id',
  )
  .refine(
    (text) => !/[\u2800\p{Co}\p{Cn}]/u.test(text),
    'must not contain braille blanks, or characters of private use or that Unicode has not assigned',
  );
