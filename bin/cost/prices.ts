/** List prices in US dollars in us-east-1, without free tiers, as AWS published them in June 2025. */
export const priceDate = 'June 2025';

const million = 1_000_000;

export const prices = {
  apiRequest: 3.5 / million,
  lambdaRequest: 0.2 / million,
  /** arm64 */
  lambdaGigabyteSecond: 0.000_013_333_4,
  /** on-demand, 1 KB */
  tableWrite: 0.625 / million,
  /** on-demand, strongly consistent, 4 KB */
  tableRead: 0.125 / million,
  tableGigabyteMonth: 0.25,
  recoveryGigabyteMonth: 0.2,
  keyMonth: 1,
  /** ECC keys */
  signature: 0.15 / 10_000,
  logGigabyte: 0.5,
  metricMonth: 0.3,
  alarmMonth: 0.1,
  dashboardMonth: 3,
  trace: 5 / million,
  firewallMonth: 5,
  firewallRuleMonth: 1,
  firewallRequest: 0.6 / million,
  bucketGigabyteMonth: 0.023,
} as const;
