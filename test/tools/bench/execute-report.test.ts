import { expect, test } from '@jest/globals';
import { describeExecutions } from '../../../tools/bench/execute-report.ts';

test('splits the time that an execution adds', () => {
  const mb = 1024 * 1024;
  const report = (processorMs: number, latenciesMs: number[]) => ({
    status: 200,
    endedMs: 0,
    latenciesMs,
    processorMs,
    loaded: { resident: 90 * mb, heap: 20 * mb },
    after: { resident: 120 * mb, heap: 21 * mb },
  });
  const round = (aloneMs: number, floorMs: number) => ({ alone: report(aloneMs, [1.9, 4, 1.2]), floor: report(floorMs, [0.7]) });
  const text = describeExecutions({
    executions: 100,
    concurrency: 16,
    direct: { latencyMs: { median: 0.1, p99: 0.5 }, perSecond: 10_000 },
    gate: { latencyMs: { median: 3.1, p99: 6.5 }, perSecond: 800 },
    tableWork: {
      operations: { BatchGetItem: 100, UpdateItem: 99, PutItem: 1 },
      newest: {},
      readBytes: 112_300,
      writtenBytes: 24_000,
      busyMs: 50,
    },
    kmsCalls: 0,
    rounds: [round(1.5, 0.8), round(1.9, 0.5), round(2, 1)],
    dynamoMs: 0.5,
  });
  const rows = text.split('\n').map((line) => line.split(/ {3,}/));
  const valuesOf = (name: string) => rows.find(([first]) => first === name)?.slice(1);
  expect(valuesOf('the upstream directly')).toEqual(['0.10', '0.50', '10000']);
  expect(valuesOf('Intent Gate on the local stack')).toEqual(['3.10', '6.50', '3.00', '6.00', '800']);
  expect(valuesOf("DynamoDB's stand-in, from request to answer")).toEqual(['0.50']);
  expect(valuesOf('the function itself')).toEqual(['1.30']);
  expect(valuesOf('the function')).toEqual(['1.90', '1.90']);
  expect(valuesOf('the floor')).toEqual(['0.80', '0.70']);
  expect(valuesOf('ratio')).toEqual(['2.00 : 1', '1.88 to 3.80']);
  expect(valuesOf('the stand-in for API Gateway and Lambda')).toEqual(['1.20']);
  expect(valuesOf('DynamoDB BatchGetItem')).toEqual(['1.00']);
  expect(valuesOf('item bytes read')).toEqual(['1123']);
  expect(valuesOf('after 100 executions')).toEqual(['120 MB', '21 MB']);
});
