import { prices } from './prices.ts';

/** The parts of a template that cost something. */
export interface Deployment {
  /** memory of each function in GB, by name */
  memoryGb: Record<string, number>;
  keys: number;
  alarms: number;
  dashboards: number;
  /** runs a month of the scheduled functions */
  scheduledRuns: number;
  firewallRules: number;
  isTraced: boolean;
}

interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template's properties have no one type
  Properties?: Record<string, any>;
}

/** What each execution of an intent entails, on average, and what the numbers are. Change them to what you expect. */
export const assumptions = {
  searchesPerExecution: [0.1, 'searches for each execution'],
  issuesPerExecution: [1 / 60, 'PATs for each execution'],
  upstreamSeconds: [0.3, "seconds that an intent's own endpoint takes, on average"],
  ownSeconds: [0.015, "seconds of a function's own work"],
  snapshotSeconds: [3, 'seconds to save the search index'],
  // intent, service and agent
  readsPerExecution: [3, 'reads of the table for each execution'],
  // the counter
  writesPerExecution: [1, 'write for each execution; two more with an `Idempotency-Key`'],
  writesPerIssue: [2, 'writes for each PAT'],
  readsPerSearch: [1, 'read for each search'],
  logBytesPerRequest: [1_500, 'bytes of log for each request'],
  registryGigabytes: [0.1, 'GB in the table'],
  metrics: [30, 'series of metrics once there is traffic'],
  // X-Ray samples these beyond the first in a second
  tracedShare: [0.05, 'of all requests are traced'],
} as const;

const usage = Object.fromEntries(Object.entries(assumptions).map(([name, [value]]) => [name, value])) as Record<
  keyof typeof assumptions,
  number
>;

export function readDeployment(resources: Record<string, Resource>): Deployment {
  const all = Object.values(resources);
  const ofType = (type: string) => all.filter(({ Type }) => Type === type);
  const functions = Object.entries(resources).filter(([, { Type }]) => Type === 'AWS::Lambda::Function');
  return {
    memoryGb: Object.fromEntries(functions.map(([id, { Properties }]) => [id, (Properties?.MemorySize ?? 128) / 1024])),
    keys: ofType('AWS::KMS::Key').length,
    alarms: ofType('AWS::CloudWatch::Alarm').length,
    dashboards: ofType('AWS::CloudWatch::Dashboard').length,
    scheduledRuns: ofType('AWS::Events::Rule').length * 24 * 30,
    firewallRules: ofType('AWS::WAFv2::WebACL').flatMap(({ Properties }) => Properties?.Rules ?? []).length,
    isTraced: functions.some(([, { Properties }]) => Properties?.TracingConfig?.Mode === 'Active'),
  };
}

/** Dollars a month by part, for a number of executions a month. */
export function estimate(deployment: Deployment, executions: number): Record<string, number> {
  const searches = executions * usage.searchesPerExecution;
  const issues = executions * usage.issuesPerExecution;
  const requests = executions + searches + issues;
  const memoryOf = (prefix: string) => Object.entries(deployment.memoryGb).find(([id]) => id.startsWith(prefix))?.[1] ?? 0;
  const seconds = [
    executions * (usage.upstreamSeconds + usage.ownSeconds) * memoryOf('executeintentFunction'),
    searches * usage.ownSeconds * memoryOf('searchintentsFunction'),
    issues * usage.ownSeconds * memoryOf('issuepatFunction'),
    deployment.scheduledRuns * usage.snapshotSeconds * memoryOf('snapshotsearchindexFunction'),
  ].reduce((sum, part) => sum + part, 0);
  return {
    'API Gateway': requests * prices.apiRequest,
    Lambda: (requests + deployment.scheduledRuns) * prices.lambdaRequest + seconds * prices.lambdaGigabyteSecond,
    DynamoDB:
      (executions * usage.writesPerExecution + issues * usage.writesPerIssue) * prices.tableWrite +
      (executions * usage.readsPerExecution + searches * usage.readsPerSearch) * prices.tableRead +
      usage.registryGigabytes * (prices.tableGigabyteMonth + prices.recoveryGigabyteMonth),
    KMS: deployment.keys * prices.keyMonth + issues * prices.signature,
    'CloudWatch logs': ((requests * usage.logBytesPerRequest) / 1e9) * prices.logGigabyte,
    'Alarms, dashboard and metrics':
      deployment.alarms * prices.alarmMonth +
      deployment.dashboards * prices.dashboardMonth +
      (executions > 0 ? usage.metrics * prices.metricMonth : 0),
    'X-Ray': deployment.isTraced ? requests * usage.tracedShare * prices.trace : 0,
    Snapshots: usage.registryGigabytes * prices.bucketGigabyteMonth,
    ...(deployment.firewallRules > 0 && {
      Firewall: prices.firewallMonth + deployment.firewallRules * prices.firewallRuleMonth + requests * prices.firewallRequest,
    }),
  };
}
