/** The socket of the features in the wire formats: see `functions/features.ts`. */
import * as z from 'zod';
import { oauthFacts, oauthInput } from './connections/oauth-client.ts';

/** The client as which a feature obtains the tokens of a service. The feature declares its other members. */
export interface TokenClient {
  grant: 'client' | 'person';
  client_secret?: string | undefined;
}

/** What admins see of it, and what they enter. At most one feature has clients; without it, none is allowed. */
export const [clientFacts = z.never(), clientInput = z.never()]: readonly z.ZodType<TokenClient>[] = [oauthFacts, oauthInput];
