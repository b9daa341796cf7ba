import { formatTable } from '../bench/load.ts';
import { assumptions, type Usage } from './assumptions.ts';
import type { Deployment } from './deployment.ts';
import { estimate } from './estimate.ts';
import { asOf, type Price, priceLists } from './prices.ts';

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

/**
 * The output of `npm run cost`.
 * @param settings - description of the deployment's settings
 */
export const renderCost = (deployment: Deployment, settings: string, usage?: Partial<Usage>): string =>
  [
    `US dollars per month in us-east-1, ${settings}:`,
    formatTable([['', ...levelNames], ...rowsOf(costOf(deployment, usage))]),
    'List prices; check them before you rely on them. docs/cost.md has their sources and dates, and the assumed traffic.',
  ].join('\n\n');

const table = (head: string[], rule: string, rows: string[][]): string =>
  [`| ${head.join(' | ')} |`, rule, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');

const priceText = ({ dollars: amount, per, unit }: Price): string =>
  `${amount} per ${per === 1 ? '' : `${per.toLocaleString('en')} `}${unit}`;

const priceRows = Object.values(priceLists).map(({ page, prices }) => [page, asOf, Object.values<Price>(prices).map(priceText).join('; ')]);

/**
 * The content of docs/cost.md.
 * @param standard - a deployment with the default settings
 */
export const renderPage = (standard: Deployment): string => `# Cost

<!-- Written by "npm run cost -- --write" from synthesized templates; a test compares the two. -->

US dollars per month at list prices of us-east-1, without free tiers, with the default settings. \`npm run cost\` computes yours: \`-c stage=test\` for another stage, \`-c waf=true\` for
a setting, \`--assume intents=50000\` for other traffic, \`--json\` for JSON.

${table(
  ['part', ...levelNames],
  '|---|---:|---:|---:|',
  rowsOf(costOf(standard)).map(([part = '', ...amounts]) => [part === 'total' ? '**total**' : part, ...amounts]),
)}

## Prices

**Check them before you rely on them.** They are in \`tools/cost/prices.ts\`.

${table(['AWS page', 'as of', 'US dollars'], '|---|---|---|', priceRows)}

## Not included

Log searches, hosted zones, alarm mails, cold starts, endpoints and NAT gateways of a \`vpc\`, requests to a \`customerManagedKey\`, and changes by admins.

## Assumptions

\`--assume name=value\` changes these:

${table(
  ['name', 'value', 'meaning'],
  '|---|---:|---|',
  Object.entries(assumptions).map(([name, [value, meaning]]) => [`\`${name}\``, String(Number(value.toPrecision(3))), meaning]),
)}
`;
