import { availableParallelism } from 'node:os';
import { formatTable, inMb, inMs, type Measured, type Summary } from './load.ts';
import type { TableWork } from './table-work.ts';
import type { Memory } from './workers.ts';

export interface ExecutionFigures {
  executions: number;
  concurrency: number;
  /** calling the upstream directly, and through the gate */
  direct: Measured;
  gate: Measured;
  /** for all executions together */
  tableWork: TableWork;
  kmsCalls: number;
  /** the function in a process of its own: latency, of which DynamoDB's stand-in takes `dynamoMs` on average; processor time; memory */
  alone: { latencyMs: Summary; dynamoMs: number; processorMs: number; loaded: Memory; after: Memory };
}

/** The figures for people. */
export function describeExecutions(figures: ExecutionFigures): string {
  const { executions, alone } = figures;
  return [
    `${executions} executions of each, against an upstream on loopback; Node ${process.versions.node}, ${availableParallelism()} processors`,
    latencyTable(figures),
    'Where the added milliseconds of the median go',
    splitTable(figures),
    'What an execution asks AWS for',
    workTable(figures),
    'Memory of a process that holds one environment of the function',
    formatTable([
      ['', 'resident', 'heap in use'],
      ['loaded', inMb(alone.loaded.resident), inMb(alone.loaded.heap)],
      [`after ${executions} executions`, inMb(alone.after.resident), inMb(alone.after.heap)],
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
    ['milliseconds', 'median', 'p99', 'added, median', 'added, p99', `per second, ${concurrency} at once`],
    row('the upstream directly', direct, ['', '']),
    row('Intent Gate on the local stack', gate, over(gate)),
  ]);
}

function splitTable({ executions, direct, gate, tableWork, alone }: ExecutionFigures): string {
  const addedMs = gate.latencyMs.median - direct.latencyMs.median;
  const dynamoMs = tableWork.busyMs / executions;
  const functionMs = alone.latencyMs.median - direct.latencyMs.median - alone.dynamoMs;
  return formatTable([
    ["DynamoDB's stand-in, from request to answer", inMs(dynamoMs)],
    ['the function itself', inMs(functionMs)],
    ['the stand-in for API Gateway and Lambda', inMs(addedMs - dynamoMs - functionMs)],
    ['processor time of the function, of all its threads', inMs(alone.processorMs)],
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
