import { assumptions, type Usage } from './assumptions.ts';
import type { Deployment } from './deployment.ts';
import { estimate, mostForTraces } from './estimate.ts';
import { type Price, priceLists } from './prices.ts';

/** Executions per month. */
const levels = [0, 100_000, 10_000_000];

const levelNames = levels.map((executions) => (executions === 0 ? 'idle' : `${executions.toLocaleString('en')} executions`));

export interface MonthlyCost {
  executions: number;
  parts: Record<string, number>;
  total: number;
}

export const costOf = (deployment: Deployment, usage?: Partial<Usage>): MonthlyCost[] =>
  levels.map((executions) => {
    const parts = estimate(deployment, executions, usage);
    return { executions, parts, total: Object.values(parts).reduce((sum, amount) => sum + amount, 0) };
  });

const dollars = (amount: number): string => (amount > 0 && amount < 0.01 ? '< 0.01' : amount.toFixed(2));

function rowsOf(months: MonthlyCost[]): string[][] {
  const parts = Object.keys(months[0]?.parts ?? {}).map((part) => [part, ...months.map((month) => dollars(month.parts[part] ?? 0))]);
  return [...parts, ['total', ...months.map(({ total }) => dollars(total))]];
}

/** Aligns columns: the first to the left, the others to the right. */
function alignColumns(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const align = (cell: string, column: number) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0));
  return rows.map((row) => row.map(align).join('  ')).join('\n');
}

/**
 * The output of `npm run cost`.
 * @param settings - description of the deployment's settings
 */
export const renderCost = (deployment: Deployment, settings: string, usage?: Partial<Usage>): string =>
  [
    `US dollars a month in us-east-1, ${settings}:`,
    alignColumns([['', ...levelNames], ...rowsOf(costOf(deployment, usage))]),
    'List prices; check them before you rely on them. docs/cost.md has their sources and dates, and the assumed traffic.',
  ].join('\n\n');

const table = (head: string[], rule: string, rows: string[][]): string =>
  [`| ${head.join(' | ')} |`, rule, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');

const amountsTable = (label: string, rows: string[][]): string => table([label, ...levelNames], '|---|---:|---:|---:|', rows);

/** The settings priced in docs/cost.md, with additional assumptions about deployments that use them. */
export const pricedSettings = [
  { name: '`tracing=false`', settings: { tracing: false } },
  { name: '`waf=true`', settings: { waf: true } },
  { name: '`machineClient=true`', settings: { machineClient: true } },
  { name: '`search=opensearch` in the stage `production`, with standby', settings: { search: 'opensearch' } },
  { name: '`search=opensearch` in another stage, without standby', settings: { search: 'opensearch', stage: 'test' } },
  { name: '`customerManagedKey=true`', settings: { customerManagedKey: true } },
  { name: '`gradualDeployment=true`', settings: { gradualDeployment: true } },
  { name: '`alarmCallsPerService` above 0', settings: { alarmCallsPerService: 5_000 } },
  { name: '`requireProofOfPossession=true`', settings: { requireProofOfPossession: true } },
  { name: 'a second signing key, during a rotation', settings: { signingKeys: 'first,second' } },
  { name: '100,000 intents in place of 1,000', settings: {}, usage: { intents: 100_000, services: 2_000 } },
] satisfies { name: string; settings: Record<string, unknown>; usage?: Partial<Usage> }[];

const signed = (amount: number): string => `${amount < 0 ? '−' : '+'}${Math.abs(amount).toFixed(2)}`;

function differences(standard: Deployment, others: Deployment[]): string[][] {
  const before = costOf(standard);
  return pricedSettings.map(({ name, ...setting }, index) => {
    const after = costOf(others[index] ?? standard, 'usage' in setting ? setting.usage : undefined);
    return [name, ...after.map(({ total }, level) => signed(total - (before[level]?.total ?? 0)))];
  });
}

const priceText = ({ dollars: amount, per, unit }: Price): string =>
  `${amount} per ${per === 1 ? '' : `${per.toLocaleString('en')} `}${unit}`;

const priceRows = Object.values(priceLists).map(({ page, asOf, prices }) => [
  page,
  asOf,
  Object.values<Price>(prices).map(priceText).join('; '),
]);

/**
 * The content of docs/cost.md.
 * @param standard - a deployment with the default settings
 * @param others - deployments with the {@link pricedSettings}, in that order
 */
export const renderPage = (standard: Deployment, others: Deployment[]): string => `# Cost

<!-- Written by "npm run cost -- --write" from synthesized templates; a test compares the two. -->

US dollars a month at list prices of us-east-1, without free tiers, with the default settings. \`npm run cost\` computes yours: \`-c stage=test\` for another stage, \`-c waf=true\` for
a setting, \`--assume intents=50000\` for other traffic, \`--json\` for programs.

${amountsTable(
  'part',
  rowsOf(costOf(standard)).map(([part = '', ...amounts]) => [part === 'total' ? '**total**' : part, ...amounts]),
)}

## What single settings cost

Added to the total, or taken from it:

${amountsTable('setting', differences(standard, others))}

- \`tracing\`: X-Ray records the first request of each second and 5 % of the others: ${dollars(estimate(standard, 100_000)['X-Ray'] ?? 0)} at 100,000 executions, at most ${dollars(mostForTraces.base)} plus ${dollars(mostForTraces.perMillion)} for each million requests.
- \`search=opensearch\`: the minimum that a collection is billed for.
- \`npm run cost\` also counts \`expectedIntents\` and \`logRetentionDays\`.

## Prices

**Check them before you rely on them.** They are in \`tools/cost/prices.ts\`.

${table(['page of AWS', 'as of', 'US dollars'], '|---|---|---|', priceRows)}

## Not counted

Log searches, hosted zones, alarm mails, cold starts, endpoints and NAT gateways of a \`vpc\`, requests to a \`customerManagedKey\`, and what admins write.

## Assumed

\`--assume name=value\` changes these:

${table(
  ['name', 'value', 'meaning'],
  '|---|---:|---|',
  Object.entries(assumptions).map(([name, [value, meaning]]) => [`\`${name}\``, String(Number(value.toPrecision(3))), meaning]),
)}
`;
