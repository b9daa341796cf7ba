import * as z from 'zod';
import { clientFacts } from './features.ts';

/** Normalises a query parameter's name for comparison: many servers ignore case, and some read spaces and dots as underscores. */
export const foldQueryName = (name: string): string => name.trim().toLowerCase().replace(/[ .]/g, '_');

const names = {
  headers: z.array(z.string()).describe('names of header fields'),
  query: z.array(z.string()).describe('names of query parameters'),
};

const facts = z.strictObject({
  ...names,
  origins: z.array(z.string()).describe('where it is sent'),
  next: z.strictObject(names).optional().describe('names of the next values, tried after a 401'),
  oauth: clientFacts.optional().describe('the client as which tokens are obtained'),
});

/** The parts of a service's credential that admins see: never its values. */
export const credentialFacts = facts
  .extend({
    set_at: z.iso.datetime(),
    set_by: z.string().optional().describe('user name or client id of the admin'),
  })
  .meta({ id: 'CredentialFacts', description: "A service's credential without its values." });

/** The credential in a service's record; its values are in Secrets Manager. */
export interface StoredCredential extends z.infer<typeof facts> {
  /** milliseconds since the epoch */
  set_at: number;
  set_by?: string;
  /** the current version of the secret */
  version: string;
}

export const toCredentialFacts = ({ version: _, set_at, ...credential }: StoredCredential): z.infer<typeof credentialFacts> => ({
  ...credential,
  set_at: new Date(set_at).toISOString(),
});

export const savedCredential = facts
  .extend({
    service_id: z.string(),
    header_name: z.string().optional().describe('if the request named it'),
    warnings: z.array(z.string()).optional().describe('remarks about these values, in sentences'),
  })
  .meta({ id: 'SavedCredential' });
