/**
 * The socket of the features in the tables of endpoints, headers and settings. `lib/feature-stacks.ts` lists those that have resources of their own,
 * because only synthesis loads CDK.
 */
import { agents } from './agents/declaration.ts';
import { approvals } from './approvals/declaration.ts';
import { connections, ownConnections } from './connections/declaration.ts';
import type { Declaration, Merged } from './declaration.ts';
import { documents } from './documents/declaration.ts';
import { mcp } from './mcp/declaration.ts';
import { mcpUpstreams } from './mcp-upstreams/declaration.ts';
import { opensearch } from './opensearch/declaration.ts';
import { receipts } from './receipts/declaration.ts';
import { signIn } from './sign-in/declaration.ts';
import { trial } from './trial/declaration.ts';
import { usage } from './usage/declaration.ts';
import { webBotAuth } from './web-bot-auth/declaration.ts';

/** A tuple, from whose members the types of settings derive. */
const declared = [
  mcp,
  mcpUpstreams,
  documents,
  approvals,
  trial,
  usage,
  agents,
  signIn,
  connections,
  ownConnections,
  webBotAuth,
  opensearch,
  receipts,
] as const satisfies readonly Declaration[];

type Declared = (typeof declared)[number];

type SettingsOf<Feature> = Feature extends { settings: infer Shape } ? Shape : never;

type AdoptedOf<Feature> = Feature extends { adopted: { settings: infer Shape } } ? Shape : never;

export const declarations: readonly Declaration[] = declared;

export const featureSettings: Merged<SettingsOf<Declared>> = Object.assign({}, ...declarations.map(({ settings }) => settings));

/** Members of the setting `adopt`. */
export const featureAdoption: Merged<AdoptedOf<Declared>> = Object.assign({}, ...declarations.map(({ adopted }) => adopted?.settings));
