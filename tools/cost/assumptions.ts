import { StartError } from '../../bin/local/data-folder.ts';

/** Assumed usage, and measured sizes: value and meaning. `--assume name=value` overrides a value. */
export const assumptions = {
  intents: [1_000, 'registered intents'],
  services: [20, 'services of these intents'],
  servicesWithCredential: [5, 'services with a credential'],
  credentialShare: [0.5, 'share of executions that call a service with a credential'],
  keyedShare: [0.5, 'share of executions with an `Idempotency-Key`'],
  searchesPerExecution: [0.1, 'searches per execution'],
  issuesPerExecution: [1 / 60, 'PATs per execution'],
  peakFactor: [3, 'peak traffic relative to the average, which determines the number of function instances'],
  upstreamSeconds: [0.3, "average response time of an intent's endpoint, in seconds"],
  ownSeconds: [0.015, 'processing time of a function, in seconds'],
  lookSeconds: [0.2, 'duration of a scheduled run without work, in seconds'],
  buildSecondsPerIntent: [0.001, 'time to build the search index per intent, in seconds'],
  changedHours: [60, 'hours per month with registry changes; each rebuilds the search index'],
  bulkChanges: [10, 'batches of more than a thousand changes per month; each rebuilds the search index'],
  // intent, service, agent and its key, slow calls
  readsPerExecution: [5, 'reads per execution'],
  readsPerKey: [1, 'additional reads per `Idempotency-Key`'],
  // agent and its key
  readsPerIssue: [2, 'reads per PAT'],
  // the counter
  writesPerExecution: [1, 'writes per execution'],
  writesPerKey: [2, 'additional writes per `Idempotency-Key`'],
  writesPerIssue: [2, 'writes per PAT'],
  readsPerSearch: [1, 'reads per search'],
  agentPairs: [200, 'pairs of an agent and a service that it calls'],
  executionsPerDelivery: [2, 'executions per delivery from CloudWatch Logs'],
  countSeconds: [0.03, 'time to store a delivery, in seconds'],
  recordBytes: [2_000, 'bytes per intent in the table'],
  pointerBytes: [500, 'bytes per intent in the list of its service'],
  indexBytes: [2_000, 'bytes per intent in the search index'],
  keptAnswerBytes: [1_500, 'bytes stored for two days per `Idempotency-Key`'],
  executionLogBytes: [1_090, 'bytes of log per execution, measured'],
  issueLogBytes: [470, 'additional bytes of log per PAT request, measured'],
  answerLogBytes: [335, 'bytes of log per other request, measured'],
  platformLogBytes: [650, "bytes of Lambda's own two log lines per run, from their published format"],
  accessLogBytes: [319, "bytes of API Gateway's log line per request, measured"],
  scheduledLogBytes: [200, 'bytes of log per scheduled run'],
  answerBytes: [2_000, 'bytes sent to the internet per request'],
  upstreamBytes: [1_500, "bytes sent to the intent's endpoint per execution"],
  metrics: [10, 'metrics that exist once there is traffic: refusals by code'],
  admins: [5, 'admins who sign in'],
  machineTokens: [730, 'machine tokens per month, with `machineClient`'],
} as const satisfies Record<string, readonly [number, string]>;

export type Usage = Record<keyof typeof assumptions, number>;

export const usualUsage = Object.fromEntries(Object.entries(assumptions).map(([name, [value]]) => [name, value])) as Usage;

/**
 * Parses assumptions from the command line.
 * @throws StartError naming the first unknown assumption, and the known ones
 */
export function readUsage(given: Record<string, string>): Partial<Usage> {
  for (const [name, text] of Object.entries(given)) {
    if (!Object.hasOwn(assumptions, name)) {
      throw new StartError(`--assume ${name}: is not an assumption. Assumptions: ${Object.keys(assumptions).join(', ')}.`);
    }
    if (!/^\d+(\.\d+)?$/.test(text)) throw new StartError(`--assume ${name}: must be a number of 0 or more, for example ${name}=10.`);
  }
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, Number(text)]));
}
