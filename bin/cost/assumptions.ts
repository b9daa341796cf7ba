import { StartError } from '../local/data-folder.ts';

/** What a deployment is used for, and the sizes that were measured: value and meaning. `--assume name=value` puts another value in place. */
export const assumptions = {
  intents: [1_000, 'intents are registered'],
  services: [20, 'services have registered them'],
  servicesWithCredential: [5, 'of the services have a credential'],
  credentialShare: [0.5, 'of the executions call a service that has a credential'],
  keyedShare: [0.5, 'of the executions carry an `Idempotency-Key`'],
  searchesPerExecution: [0.1, 'searches for each execution'],
  issuesPerExecution: [1 / 60, 'PATs for each execution'],
  peakFactor: [3, 'times the average traffic at busy hours, which decides how many instances of a function there are'],
  upstreamSeconds: [0.3, "seconds that an intent's own endpoint takes, on average"],
  ownSeconds: [0.015, "seconds of a function's own work"],
  lookSeconds: [0.2, 'seconds of a scheduled run that finds nothing to do'],
  buildSecondsPerIntent: [0.001, 'seconds for each intent to build the search index'],
  changedHours: [60, 'hours a month in which the registry changes, after each of which the search index is built again'],
  bulkChanges: [10, 'times a month, more than a thousand changes at once, after which the index is built again'],
  // intent, service, agent and its key
  readsPerExecution: [4, 'reads for each execution'],
  readsPerKey: [1, 'more read for each `Idempotency-Key`'],
  // agent and its key
  readsPerIssue: [2, 'reads for each PAT'],
  // the counter
  writesPerExecution: [1, 'write for each execution'],
  writesPerKey: [2, 'more writes for each `Idempotency-Key`'],
  writesPerIssue: [2, 'writes for each PAT'],
  readsPerSearch: [1, 'read for each search'],
  recordBytes: [2_000, 'bytes in the table for each intent'],
  pointerBytes: [500, 'bytes of its entry in the list of its service'],
  indexBytes: [2_000, 'bytes in the search index for each intent'],
  keptAnswerBytes: [1_500, 'bytes that are kept for two days for each `Idempotency-Key`'],
  executionLogBytes: [960, 'bytes of log that an execution writes, measured'],
  issueLogBytes: [470, 'bytes of log that a request for a PAT writes besides, measured'],
  answerLogBytes: [335, 'bytes of log that another request writes, measured'],
  platformLogBytes: [650, "bytes of Lambda's own two lines for each run, by their published form"],
  accessLogBytes: [300, "bytes of API Gateway's line for each request, measured"],
  scheduledLogBytes: [200, 'bytes of log that a scheduled run writes'],
  answerBytes: [2_000, 'bytes to the internet for each request'],
  upstreamBytes: [1_500, 'bytes to the endpoint of the intent for each execution'],
  metrics: [10, 'series of metrics once there is traffic: refusals by code'],
  admins: [5, 'admins sign in'],
  machineTokens: [730, 'tokens a month for machines, if there is a client for them'],
} as const satisfies Record<string, readonly [number, string]>;

export type Usage = Record<keyof typeof assumptions, number>;

export const usualUsage = Object.fromEntries(Object.entries(assumptions).map(([name, [value]]) => [name, value])) as Usage;

/**
 * Assumptions from a command line.
 * @throws StartError naming the first that is none, and those that there are
 */
export function readUsage(given: Record<string, string>): Partial<Usage> {
  for (const [name, text] of Object.entries(given)) {
    if (!Object.hasOwn(assumptions, name)) {
      throw new StartError(`--assume ${name}: is not an assumption; there are ${Object.keys(assumptions).join(', ')}.`);
    }
    if (!/^\d+(\.\d+)?$/.test(text)) throw new StartError(`--assume ${name}: must be a number of 0 or more, for example ${name}=10.`);
  }
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, Number(text)]));
}
