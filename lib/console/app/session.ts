import { openStore } from './store.ts';

/** Who has signed in. */
export interface Session {
  accessToken: string;
}

/** Tokens stay in memory: no other page of this origin, and nobody who opens the tab's storage later, can read them. */
export const session = openStore<Session | undefined>(undefined);

export const accessToken = (): string | undefined => session.get()?.accessToken;

/** Gets another token for whoever has signed in; false if they have to sign in again. */
export async function renewSession(): Promise<boolean> {
  return false;
}
