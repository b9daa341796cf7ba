import { longestRunSeconds } from '../../schemas/deferred.ts';
import { type BackgroundFunction, wholeProcessorMb } from './endpoint.ts';
import { deferredCalling } from './execution.ts';
import { followed, wholeRegistry } from './needs.ts';

/** The background functions of the core. */
export const background: readonly BackgroundFunction[] = [
  {
    name: 'guard-signing-keys',
    summary: 'Refuse a deployment that would fail in this account, or invalidate every PAT by mistake',
    needs: { accountLimits: true },
    timeoutSeconds: 10,
    memoryMb: 256,
  },
  {
    name: 'run-deferred-call',
    summary: 'Make a deferred call',
    isStarted: 'once',
    needs: deferredCalling,
    executionAlarms: 'Deferred',
    alarms: { DeferredErrors: { metric: 'failedRuns', above: 2, description: 'Deferred calls do not start, or get no result.' } },
    timeoutSeconds: longestRunSeconds,
    memoryMb: 512,
  },
  {
    name: 'snapshot-search-index',
    summary: 'Save a snapshot of the search index for cold starts',
    isStarted: true,
    everyMinutes: 5,
    afterDeployment: true,
    needs: { table: { ...wholeRegistry, ...followed, snapshot: ['get', 'update'] }, snapshots: 'write', wordVectors: true },
    logMetrics: {
      Runs: {
        metric: 'SnapshotAgeRuns',
        pattern: '$.message = "the snapshot of the search index is as new as it should be"',
        defaultValue: 0,
      },
    },
    alarms: {
      SnapshotAge: {
        metric: { sum: 'SnapshotAgeRuns' },
        minutes: 180,
        below: 1,
        orSilent: true,
        description: 'The search index has had no current snapshot for three hours, so cold starts of search take longer.',
      },
    },
    timeoutSeconds: 300,
    memoryMb: wholeProcessorMb,
  },
];
