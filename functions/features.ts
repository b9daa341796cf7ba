/**
 * The socket of the features: what each adds to the core of the functions. A feature is a folder of the same name here and, where it
 * needs them, in `schemas/`, `lib/`, `bin/cli/`, `console/app/`, `registry/` and `test/`; nothing in the core imports it. `npm run without -- <feature>` shows what remains if it is deleted.
 */
import { approvalCheckFromEnvironment } from './agents/approval-check.ts';
import { approvalRequestsFromEnvironment } from './approvals/request.ts';
import { checkClient } from './connections/check-client.ts';
import { personGrantKeys } from './connections/records.ts';
import { tokensFromEnvironment } from './connections/tokens.ts';
import { type Around, nest } from './core/execution/around.ts';
import type { Observe } from './core/execution/execution.ts';
import { firstOf, type Instead } from './core/execution/instead.ts';
import type { ResolverParts } from './core/execution/resolve.ts';
import type { IssueCheck } from './core/pat/bind-agent.ts';
import type { VerifyDomain } from './core/pat/issue.ts';
import type { Protocol } from './core/relay/call.ts';
import type { CredentialCheck } from './core/relay/credential.ts';
import type { CallSigner } from './core/relay/headers.ts';
import type { ReadHealth, SearchEngine } from './core/search/search-engine.ts';
import type { Table } from './core/table/table.ts';
import { speakMcp } from './mcp-upstreams/relay.ts';
import { openSearchFromEnvironment } from './opensearch/engine.ts';
import { receiptsFromEnvironment } from './receipts/around.ts';
import { trialObserverFromEnvironment } from './trial/trial-verdict.ts';
import { readHealthFromEnvironment } from './usage/health.ts';
import { directoriesFromEnvironment } from './web-bot-auth/agent-directory.ts';
import { callSignerFromEnvironment } from './web-bot-auth/signer.ts';

/** Around the attempt of each call, the first outermost. */
const around: readonly ((table: Table) => Around)[] = [receiptsFromEnvironment, tokensFromEnvironment];

/** What adds records to those that an execution reads: one feature at most. */
const relatedKeys: readonly ResolverParts['relatedKeysOf'][] = [personGrantKeys];

/** What notes something about each execution. */
const observers: readonly ((table: Table) => Observe)[] = [trialObserverFromEnvironment];

export const executionFeatures = (table: Table) => ({
  around: nest(...around.map((open) => open(table))),
  relatedKeysOf: relatedKeys[0],
  observers: observers.map((open) => open(table)),
});

/** Instead of an attempt; the first that answers. */
const instead: readonly (() => Instead)[] = [approvalRequestsFromEnvironment];

export const insteadFromEnvironment = (): Instead => firstOf(...instead.map((open) => open()));

/** What adds header fields to each call. */
const signers: readonly (() => CallSigner)[] = [callSignerFromEnvironment];

export const signersFromEnvironment = (): CallSigner[] => signers.map((open) => open());

/** What calls endpoints that speak another protocol. */
export const protocols: readonly Protocol[] = [speakMcp];

/** Before a service gets a credential. */
export const credentialChecks: readonly CredentialCheck[] = [checkClient];

/** Before an agent gets a PAT. */
const issueChecks: readonly ((table: Table) => IssueCheck)[] = [approvalCheckFromEnvironment];

export const issueChecksFromEnvironment = (table: Table): IssueCheck[] => issueChecks.map((open) => open(table));

/** At most one verifies the domains that agents name. */
const domains: readonly [((table: Table) => VerifyDomain)?] = [directoriesFromEnvironment];

export const verifyDomainFromEnvironment = (table: Table): VerifyDomain | undefined => domains[0]?.(table);

/** In place of the search engine in memory: the first that this deployment has. */
const searchEngines: readonly (() => SearchEngine | undefined)[] = [openSearchFromEnvironment];

export const searchEngineFromEnvironment = (): SearchEngine | undefined =>
  searchEngines.map((open) => open()).find((engine) => engine !== undefined);

/** What reports how the calls of intents have fared: the first that this deployment has. */
const healthReports: readonly ((table: Table) => ReadHealth | undefined)[] = [readHealthFromEnvironment];

export const healthReportFromEnvironment = (table: Table): ReadHealth | undefined =>
  healthReports.map((open) => open(table)).find((read) => read !== undefined);
