import { type Deployment, estimate, usage } from './estimate.ts';
import { priceDate } from './prices.ts';

const levels = { idle: 0, '100,000 executions': 100_000, '10 million executions': 10_000_000 };

const dollars = (amount: number): string => (amount > 0 && amount < 0.01 ? '< 0.01' : amount.toFixed(2));

const assumptions: Record<keyof typeof usage, string> = {
  searchesPerExecution: 'searches for each execution',
  issuesPerExecution: 'PATs for each execution',
  upstreamSeconds: "seconds that an intent's own endpoint takes, on average",
  ownSeconds: "seconds of a function's own work",
  snapshotSeconds: 'seconds to save the search index',
  readsPerExecution: 'reads of the table for each execution',
  writesPerExecution: 'write for each execution; two more with an `Idempotency-Key`',
  writesPerIssue: 'writes for each PAT',
  readsPerSearch: 'read for each search',
  logBytesPerRequest: 'bytes of log for each request',
  registryGigabytes: 'GB in the table',
  metrics: 'series of metrics once there is traffic',
  tracedShare: 'of all requests are traced',
};

/** The text of docs/cost.md. */
export function renderCost(deployment: Deployment): string {
  const columns = Object.values(levels).map((executions) => estimate(deployment, executions));
  const parts = Object.keys(columns[0] ?? {});
  const row = (label: string, amounts: number[]) => `| ${label} | ${amounts.map(dollars).join(' | ')} |`;
  const total = columns.map((column) => Object.values(column).reduce((sum, amount) => sum + amount, 0));
  return `# Cost

<!-- Written by "npm run cost -- --write" from the synthesized template; a test compares the two. -->

For those who pay the bill: US dollars a month in us-east-1 with the default settings, at list prices of ${priceDate} without free tiers. Prices
change: they are in \`bin/cost/prices.ts\`, the assumed traffic in \`bin/cost/estimate.ts\`. \`npm run cost -- -c waf=true\` computes with other settings.

| part | ${Object.keys(levels).join(' | ')} |
|---|${columns.map(() => '---:|').join('')}
${parts
  .map((part) =>
    row(
      part,
      columns.map((column) => column[part] ?? 0),
    ),
  )
  .join('\n')}
${row('**total**', total)}

Not counted: traffic out, secrets of services (0.40 each), Cognito, a domain name's hosted zone, alarm mails, and searching the logs.

Assumed:

${Object.entries(assumptions)
  .map(([name, meaning]) => `- ${Number(usage[name as keyof typeof usage].toPrecision(3))} ${meaning}`)
  .join('\n')}
`;
}
