import { assumptions, type Deployment, estimate } from './estimate.ts';
import { priceDate } from './prices.ts';

const levels = { idle: 0, '100,000 executions': 100_000, '10 million executions': 10_000_000 };

const dollars = (amount: number): string => (amount > 0 && amount < 0.01 ? '< 0.01' : amount.toFixed(2));

/** The text of docs/cost.md. */
export function renderCost(deployment: Deployment): string {
  const columns = Object.values(levels).map((executions) => estimate(deployment, executions));
  const row = (label: string, amounts: number[]) => `| ${label} | ${amounts.map(dollars).join(' | ')} |`;
  const rows = Object.keys(columns[0] ?? {}).map((part) =>
    row(
      part,
      columns.map((column) => column[part] ?? 0),
    ),
  );
  const total = columns.map((column) => Object.values(column).reduce((sum, amount) => sum + amount, 0));
  return `# Cost

<!-- Written by "npm run cost -- --write" from the synthesized template; a test compares the two. -->

For those who pay the bill: US dollars a month in us-east-1 with the default settings, at list prices of ${priceDate} without free tiers. Prices
change: they are in \`bin/cost/prices.ts\`, the assumed traffic in \`bin/cost/estimate.ts\`. \`npm run cost -- -c waf=true\` computes with other settings.

| part | ${Object.keys(levels).join(' | ')} |
|---|${columns.map(() => '---:|').join('')}
${rows.join('\n')}
${row('**total**', total)}

Not counted: traffic out, secrets of services (0.40 each), Cognito, a domain name's hosted zone, alarm mails, and searching the logs.

Assumed:

${Object.values(assumptions)
  .map(([value, meaning]) => `- ${Number(value.toPrecision(3))} ${meaning}`)
  .join('\n')}
`;
}
