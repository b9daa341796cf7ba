import { availableParallelism } from 'node:os';
import { formatTable, inMb, inMs, type Measured, percentile } from './load.ts';
import type { TableWork } from './table-work.ts';
import type { HostReport } from './workers.ts';

export interface ExecutionFigures {
  executions: number;
  concurrency: number;
  direct: Measured;
  gate: Measured;
  tableWork: TableWork;
  kmsCalls: number;
  /** the function, the floor and the floor with the AWS SDK in turn, each in its own process */
  rounds: readonly { alone: HostReport; floor: HostReport; sdk: HostReport }[];
  /** time spent in DynamoDB's stand-in per execution of `rounds` */
  dynamoMs: number;
}

export function describeExecutions(figures: ExecutionFigures): string {
  const { executions, rounds } = figures;
  const memoryOf = (when: 'loaded' | 'after') =>
    (['resident', 'heap'] as const).map((what) => inMb(median(rounds.map(({ alone }) => alone[when][what]))));
  return [
    `${executions} executions of each, against an upstream on loopback; Node ${process.versions.node}, ${availableParallelism()} processors`,
    latencyTable(figures),
    'Breakdown of the added median latency',
    splitTable(figures),
    `The function compared with the least work that an execution takes: two signed requests to DynamoDB, the call and an ES256 check, in plain Node and with the AWS SDK.
The function remembers verified tokens; the floor verifies the token each time. Medians of ${rounds.length} rounds`,
    floorTable(figures),
    'AWS requests per execution',
    workTable(figures),
    'Memory of a process with one function environment',
    formatTable([
      ['', 'resident', 'heap in use'],
      ['loaded', ...memoryOf('loaded')],
      [`after ${executions} executions`, ...memoryOf('after')],
    ]),
  ].join('\n\n');
}

function latencyTable({ concurrency, direct, gate }: ExecutionFigures): string {
  const row = (name: string, { latencyMs: { median, p99 }, perSecond }: Measured, added: string[]) => [
    name,
    inMs(median),
    inMs(p99),
    ...added,
    perSecond.toFixed(0),
  ];
  const over = ({ latencyMs }: Measured) => [inMs(latencyMs.median - direct.latencyMs.median), inMs(latencyMs.p99 - direct.latencyMs.p99)];
  return formatTable([
    ['milliseconds', 'median', 'p99', 'added, median', 'added, p99', `per second, ${concurrency} concurrent`],
    row('the upstream directly', direct, ['', '']),
    row('Intent Gate on the local stack', gate, over(gate)),
  ]);
}

const median = (values: number[]): number => percentile(values, 0.5);

function floorTable({ rounds }: ExecutionFigures): string {
  const row = (name: string, way: 'alone' | 'floor' | 'sdk') => {
    const ratios = rounds.map((round) => round[way].processorMs / round.floor.processorMs);
    return [
      name,
      inMs(median(rounds.map((round) => round[way].processorMs))),
      inMs(median(rounds.flatMap((round) => round[way].latenciesMs))),
      ...(way === 'floor' ? [] : [`${inMs(median(ratios))} : 1 (${inMs(Math.min(...ratios))} to ${inMs(Math.max(...ratios))})`]),
    ];
  };
  return formatTable([
    ['milliseconds', 'processor time', 'latency', 'processor time, ratio'],
    row('the function', 'alone'),
    row('the floor', 'floor'),
    row('the floor with the AWS SDK', 'sdk'),
  ]);
}

function splitTable({ executions, direct, gate, tableWork, rounds, dynamoMs: aloneMs }: ExecutionFigures): string {
  const addedMs = gate.latencyMs.median - direct.latencyMs.median;
  const dynamoMs = tableWork.busyMs / executions;
  const functionMs = median(rounds.flatMap(({ alone }) => alone.latenciesMs)) - direct.latencyMs.median - aloneMs;
  return formatTable([
    ["DynamoDB's stand-in, from request to answer", inMs(dynamoMs)],
    ['the function itself', inMs(functionMs)],
    ['the stand-in for API Gateway and Lambda', inMs(addedMs - dynamoMs - functionMs)],
  ]);
}

function workTable({ executions, tableWork, kmsCalls }: ExecutionFigures): string {
  const each = (count: number) => (count / executions).toFixed(2);
  return formatTable([
    ...Object.entries(tableWork.operations).map(([name, count]) => [`DynamoDB ${name}`, each(count)]),
    ['KMS', each(kmsCalls)],
    ['item bytes read', (tableWork.readBytes / executions).toFixed(0)],
    ['item bytes written', (tableWork.writtenBytes / executions).toFixed(0)],
  ]);
}
