import { type Usage, usualUsage } from './assumptions.ts';
import type { Deployment } from './deployment.ts';
import { cost, priceLists } from './prices.ts';

const { apiGateway, lambda, dynamodb, kms, secrets, cloudWatch, xray, s3, cognito, waf, openSearch, transfer } = priceLists;

const hours = 730;
const minutes = hours * 60;
const seconds = minutes * 60;

/** X-Ray records the first request per second, and this share of the others. */
const tracedShare = 0.05;

/** Bytes that CloudWatch Logs adds to each line. */
const logLineOverhead = 26;

const logCompression = 0.15;

/** Old snapshots are kept for up to two days. The index is built twice a day without changes, and at most hourly with changes. */
const snapshotsKept = 10;
const buildsWithoutChanges = 2 * 30;

const gigabytes = (bytes: number): number => bytes / 1e9;
const sum = (amounts: number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/**
 * Traces recorded by X-Ray's default rule: the first request of each second, and 5 % of the others. Assumes that requests arrive at random,
 * which determines the number of seconds with at least one.
 */
function tracesOf(requests: number): number {
  const first = seconds * (1 - Math.exp(-requests / seconds));
  return first + tracedShare * (requests - first);
}

/** Reads per month of a value that each reader caches for a minute, given the total number of uses. */
function readsOfCached(uses: number, readers: number): number {
  if (readers === 0) return 0;
  const perMinute = uses / readers / minutes;
  return uses / (1 + perMinute);
}

/** Read units to read the whole registry: names, lists of intents, and every record. */
const readsOfRegistry = ({ intents, services, pointerBytes }: Usage): number => 2 * services + intents + (intents * pointerBytes) / 4096;

const isCounting = ({ functionId }: Deployment['schedules'][number]): boolean => functionId.startsWith('countusage');

/** Runs, seconds and read units per month of background functions other than counting. */
function background(deployment: Deployment, usage: Usage) {
  const builds = deployment.buckets > 0 ? buildsWithoutChanges + usage.changedHours + usage.bulkChanges : 0;
  const others = deployment.schedules.filter((schedule) => !isCounting(schedule));
  const schedules = others.map(({ functionId, everyMinutes }) => ({
    functionId,
    runs: minutes / everyMinutes,
    seconds: (minutes / everyMinutes) * usage.lookSeconds + builds * usage.intents * usage.buildSecondsPerIntent,
  }));
  const runs = sum(schedules.map((schedule) => schedule.runs));
  return { schedules, builds, runs, reads: runs + builds * readsOfRegistry(usage) };
}

/** Expected number of things that random events affect at least once. */
const distinct = (events: number, things: number): number => things * (1 - Math.exp(-events / things));

/** Runs, seconds, read and write units per month of counting executions, see `functions/core/activity/usage.ts`. */
function counting({ schedules }: Deployment, executions: number, usage: Usage) {
  const deliveries = executions / usage.executionsPerDelivery;
  const scheduled = sum(schedules.filter(isCounting).map(({ everyMinutes }) => minutes / everyMinutes));
  const totalsOf = (slots: number): number =>
    slots * sum([usage.services, usage.intents, usage.agentPairs].map((things) => distinct(executions / slots, things)));
  // The executions of a minute are summed during the minute, and again after it.
  const sums = 2 * minutes;
  const busy = distinct(executions, sums);
  const marks = deliveries + Math.min(deliveries, 8 * busy) + busy;
  return {
    runs: scheduled + deliveries,
    seconds: scheduled * usage.lookSeconds + deliveries * usage.countSeconds,
    writes: executions + marks + totalsOf(sums) + totalsOf(hours) + totalsOf(hours / 24),
    // eight partitions of marks, one of hours and days, those of executions, and existing totals
    reads: 10 * scheduled + 11 * busy + (2 * executions) / 10,
  };
}

/** Dollars per month by part, for a number of executions per month. */
export function estimate(deployment: Deployment, executions: number, changed: Partial<Usage> = {}): Record<string, number> {
  const usage = { ...usualUsage, ...changed };
  const searches = executions * usage.searchesPerExecution;
  const issues = executions * usage.issuesPerExecution;
  const requests = executions + searches + issues;
  const keyed = executions * usage.keyedShare;
  const scheduled = background(deployment, usage);

  const durationOf = (prefix: string, runSeconds: number): number => {
    const found = deployment.functions.find(({ id }) => id.startsWith(prefix));
    if (!found) return 0;
    const storageGb = Math.max(0, found.storageGb - 0.5);
    return cost(lambda.prices.duration, runSeconds * found.memoryGb) + cost(lambda.prices.storage, runSeconds * storageGb);
  };
  const executionSeconds = executions * (usage.upstreamSeconds + usage.ownSeconds);
  const instances = Math.max(1, (executionSeconds / seconds) * usage.peakFactor);

  const writes =
    executions * (usage.writesPerExecution + Number(deployment.isProofRequired)) +
    keyed * usage.writesPerKey +
    issues * (usage.writesPerIssue + Number(deployment.isProofRequired) + Number(deployment.isFreshRequired));
  const readsOfSearches = deployment.collectionUnits > 0 ? 0 : searches * usage.readsPerSearch;
  const reads = executions * usage.readsPerExecution + keyed * usage.readsPerKey + issues * usage.readsPerIssue + readsOfSearches;
  const storedGb = gigabytes(usage.intents * (usage.recordBytes + usage.pointerBytes) + (keyed / 30) * 2 * usage.keptAnswerBytes);

  const requestLog = usage.platformLogBytes + usage.accessLogBytes + 3 * logLineOverhead;
  const logGb = gigabytes(
    requests * requestLog +
      executions * (usage.executionLogBytes + 3 * logLineOverhead) +
      (searches + issues) * (usage.answerLogBytes + logLineOverhead) +
      issues * (usage.issueLogBytes + logLineOverhead) +
      scheduled.runs * (usage.scheduledLogBytes + usage.platformLogBytes + 3 * logLineOverhead),
  );

  const counted = counting(deployment, executions, usage);
  const countedLogGb = gigabytes(counted.runs * (usage.scheduledLogBytes + logLineOverhead));
  const logCost = (gigabytesOfLog: number): number =>
    cost(cloudWatch.prices.logs, gigabytesOfLog) +
    cost(cloudWatch.prices.logStorage, gigabytesOfLog * logCompression * (deployment.logRetentionDays / 30));

  const credentialReads = readsOfCached(executions * usage.credentialShare, usage.servicesWithCredential * instances);

  return {
    'API Gateway': cost(apiGateway.prices.request, requests),
    Lambda:
      cost(lambda.prices.request, requests + scheduled.runs) +
      durationOf('executeintent', executionSeconds) +
      durationOf('searchintents', searches * usage.ownSeconds) +
      durationOf('issuepat', issues * usage.ownSeconds) +
      sum(scheduled.schedules.map(({ functionId, seconds }) => durationOf(functionId, seconds))),
    'DynamoDB, requests': cost(dynamodb.prices.write, writes) + cost(dynamodb.prices.read, reads),
    'DynamoDB, storage and recovery': cost(dynamodb.prices.storage, storedGb) + cost(dynamodb.prices.recovery, storedGb),
    'Search index and its snapshots': cost(dynamodb.prices.read, scheduled.reads) + snapshotCost(scheduled, deployment, usage),
    ...(deployment.collectionUnits > 0 && { 'OpenSearch Serverless': cost(openSearch.prices.unit, deployment.collectionUnits * hours) }),
    KMS: cost(kms.prices.key, deployment.keys) + cost(kms.prices.signature, issues),
    'Secrets Manager': cost(secrets.prices.secret, usage.servicesWithCredential) + cost(secrets.prices.request, credentialReads),
    Cognito:
      cost(cognito.prices.user, usage.admins) +
      deployment.machineClients * (cost(cognito.prices.machineClient, 1) + cost(cognito.prices.machineToken, usage.machineTokens)),
    'Usage: counting executions':
      cost(lambda.prices.request, counted.runs) +
      durationOf('countusage', counted.seconds) +
      cost(dynamodb.prices.write, counted.writes) +
      cost(dynamodb.prices.read, counted.reads) +
      logCost(countedLogGb),
    'CloudWatch logs': logCost(logGb),
    'CloudWatch alarms': cost(cloudWatch.prices.alarm, deployment.alarms),
    'CloudWatch Contributor Insights':
      deployment.insightRules * (cost(cloudWatch.prices.insightRule, 1) + cost(cloudWatch.prices.insightEvent, executions)),
    'CloudWatch dashboard': cost(cloudWatch.prices.dashboard, deployment.dashboards),
    // One metric shows that a schedule runs.
    'CloudWatch metrics': cost(cloudWatch.prices.metric, 1 + (executions > 0 ? usage.metrics : 0)),
    'X-Ray': deployment.isTraced ? cost(xray.prices.trace, tracesOf(requests) + scheduled.runs) : 0,
    'Traffic to the internet': cost(transfer.prices.out, gigabytes(requests * usage.answerBytes + executions * usage.upstreamBytes)),
    ...(deployment.firewalls > 0 && {
      WAF:
        cost(waf.prices.acl, deployment.firewalls) + cost(waf.prices.rule, deployment.firewallRules) + cost(waf.prices.request, requests),
    }),
  };
}

/** Every check reads the manifest; a build reads it again, writes index and manifest, and leaves the old index until it expires. */
function snapshotCost({ runs, builds }: { runs: number; builds: number }, { buckets }: Deployment, { intents, indexBytes }: Usage): number {
  if (buckets === 0) return 0;
  return (
    cost(s3.prices.get, runs + builds) +
    cost(s3.prices.put, 2 * builds) +
    cost(s3.prices.storage, gigabytes(intents * indexBytes * snapshotsKept))
  );
}
