import { isLoopback } from '../../bin/cli/context.ts';
import { startUpstream } from '../../bin/local/upstream/server.ts';
import { type Http, openHttp } from '../../client/http.ts';
import { CliFailure } from '../../registry/failure.ts';
import { type Check, openExpect } from './check.ts';
import { discoveryChecks } from './discovery.ts';
import { executionChecks, grantedExecutionChecks } from './execution.ts';
import { freshId, type Gate, openGate, Unmet } from './gate.ts';
import { credentialChecks, intentChecks, serviceChecks } from './management.ts';
import { policyAndPatChecks } from './policy-and-pat.ts';
import { protocolChecks } from './protocol.ts';
import type { CheckOutcome, Report } from './report.ts';

export interface ConformanceOptions {
  /** enables the checks of management and execution; the records that they create are removed at the end */
  adminToken?: string | undefined;
  /** a demo upstream that the gate can reach; default: one is started if the gate runs on this machine */
  upstreamUrl?: string | undefined;
  /** ids of checks; default: all */
  only?: readonly string[] | undefined;
  /** called with each outcome */
  onOutcome?: (outcome: CheckOutcome) => void;
}

export const checks: readonly Check[] = [
  protocolChecks,
  discoveryChecks,
  policyAndPatChecks,
  credentialChecks,
  serviceChecks,
  intentChecks,
  executionChecks,
  grantedExecutionChecks,
].flat();

/**
 * Checks whether the gate at `url` conforms to the specification.
 * @param url - absolute base URL
 * @throws Unreachable if nothing answers there; CliFailure if the admin token is refused
 */
export async function runConformance(url: string, options: ConformanceOptions = {}): Promise<Report> {
  const { adminToken, only, onOutcome } = options;
  const baseUrl = url.replace(/\/+$/, '');
  const http = openHttp({ url: baseUrl });
  // tests the token harmlessly, by deleting a service that does not exist
  const [method, path] = adminToken === undefined ? ['GET', '/api/policy'] : ['DELETE', `/api/services/${freshId()}`];
  const { status } = await http.exchange(method, path, { bearer: adminToken });
  if (adminToken !== undefined && [401, 403].includes(status))
    throw new CliFailure('credentials', `The gate refused the admin token (${status}). Get a fresh token, or run without one.`);
  const protocol = (await findProtocol(http)) ?? 'proto';
  const own = options.upstreamUrl === undefined && adminToken !== undefined && isLoopback(baseUrl) ? await startUpstream() : undefined;
  const gate = openGate({ http, protocol, adminToken, upstreamUrl: options.upstreamUrl ?? own?.url });
  try {
    const outcomes: CheckOutcome[] = [];
    for (const check of checks.filter(({ id }) => only?.includes(id) ?? true)) {
      const outcome = await make(check, gate);
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
    const count = (wanted: CheckOutcome['outcome']) => outcomes.filter(({ outcome }) => outcome === wanted).length;
    return {
      url: baseUrl,
      protocol,
      passed: count('passed'),
      failed: count('failed'),
      skipped: count('skipped'),
      checks: outcomes,
      left_behind: await gate.cleanUp(),
    };
  } finally {
    await own?.stop();
  }
}

/** The protocol's name, from member names in the gate's own description. The specification does not define where to find it. */
async function findProtocol(http: Http): Promise<string | undefined> {
  const { status, body } = await http.exchange('GET', '/agents.json', { query: { page_size: 1 } });
  const names = status === 200 && typeof body === 'object' && body !== null ? Object.keys(body) : [];
  return names.map((name) => /^(.+)-public-key$/.exec(name)?.[1]).find((name) => name !== undefined);
}

async function make({ id, clause, title, isAdmins, run }: Check, gate: Gate): Promise<CheckOutcome> {
  const close = (outcome: CheckOutcome['outcome'], notes: string[]): CheckOutcome => ({ id, clause, title, outcome, notes });
  if (isAdmins && !gate.isAdmin) return close('skipped', ['needs an admin token']);
  const findings: string[] = [];
  try {
    await run(gate, openExpect(findings));
    return close(findings.length === 0 ? 'passed' : 'failed', findings);
  } catch (error) {
    if (error instanceof Unmet) return close('skipped', [error.message]);
    return close('failed', [`the check failed with an error: ${error instanceof Error ? error.message : 'unknown error'}`]);
  }
}
